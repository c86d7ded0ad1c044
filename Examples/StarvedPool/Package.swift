// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "StarvedPool",
    dependencies: [.package(name: "LagMonitor", path: "../..")],
    targets: [
        .executableTarget(
            name: "StarvedPool",
            dependencies: [
                .product(name: "LagMonitor", package: "LagMonitor"),
                .product(name: "LagMonitorConcurrency", package: "LagMonitor"),
            ],
            swiftSettings: [.treatAllWarnings(as: .error), .enableUpcomingFeature("MemberImportVisibility")]
        )
    ]
)
