// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [.treatAllWarnings(as: .error), .enableUpcomingFeature("MemberImportVisibility")]

// Programs whose main thread runs no observable loop: the main queue and the main actor run on Dispatch's threads.
let package = Package(
    name: "MainActorApp",
    dependencies: [.package(name: "LagMonitor", path: "../..")],
    targets: [
        .target(
            name: "Answers",
            dependencies: [.product(name: "LagMonitor", package: "LagMonitor")],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "MainActorApp",
            dependencies: ["Answers", .product(name: "LagMonitor", package: "LagMonitor")],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "DispatchMainApp",
            dependencies: ["Answers", .product(name: "LagMonitor", package: "LagMonitor")],
            swiftSettings: strict
        ),
    ]
)
