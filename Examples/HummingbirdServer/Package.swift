// swift-tools-version: 6.2
import PackageDescription

// How a Hummingbird server embeds the monitor: three traits, and a service among the application's services.
let package = Package(
    name: "HummingbirdServer",
    // Hummingbird requires this on Apple's systems. The monitor itself needs Linux.
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "LagMonitor", path: "../..", traits: ["Hummingbird", "NIO", "ServiceLifecycle"]),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.8.0"),
    ],
    targets: [
        .executableTarget(
            name: "HummingbirdServer",
            dependencies: [
                .product(name: "LagMonitor", package: "LagMonitor"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: [.treatAllWarnings(as: .error), .enableUpcomingFeature("MemberImportVisibility")]
        )
    ]
)
