// swift-tools-version: 6.2
import PackageDescription

// How a gRPC server embeds the monitor: three traits, and a service in the server's service group.
let package = Package(
    name: "GRPCServer",
    // gRPC requires this on Apple's systems. The monitor itself needs Linux.
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "LagMonitor", path: "../..", traits: ["GRPC", "NIO", "ServiceLifecycle"]),
        .package(url: "https://github.com/grpc/grpc-swift-2", from: "2.4.0"),
        .package(url: "https://github.com/grpc/grpc-swift-nio-transport", from: "2.9.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.6.3"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.8.0"),
    ],
    targets: [
        .executableTarget(
            name: "ShopServer",
            dependencies: [
                .product(name: "LagMonitor", package: "LagMonitor"),
                .product(name: "GRPCCore", package: "grpc-swift-2"),
                .product(name: "GRPCNIOTransportHTTP2Posix", package: "grpc-swift-nio-transport"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: [.treatAllWarnings(as: .error), .enableUpcomingFeature("MemberImportVisibility")]
        )
    ]
)
