// swift-tools-version: 6.2
import PackageDescription

// How a SwiftNIO server embeds the monitor: one trait, two lines of code.
let package = Package(
    name: "NIOEchoExample",
    dependencies: [
        .package(name: "LagMonitor", path: "../..", traits: ["NIO"]),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
    ],
    targets: [
        .executableTarget(
            name: "NIOEchoExample",
            dependencies: [
                .product(name: "LagMonitor", package: "LagMonitor"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            path: "Sources/NIOEcho",
            swiftSettings: [.treatAllWarnings(as: .error), .enableUpcomingFeature("MemberImportVisibility")]
        )
    ]
)
