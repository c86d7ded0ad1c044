// swift-tools-version: 6.2
import PackageDescription

// Services under load, in which one request in 200 blocks: checks whether each stall names the request. A separate package, so
// that their dependencies do not become dependencies of the monitor.
let package = Package(
    name: "EvaluationRequests",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "LagMonitor", path: "../..", traits: ["NIO", "Hummingbird", "GRPC", "Tracing"]),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/grpc/grpc-swift-2", from: "2.4.0"),
        .package(url: "https://github.com/grpc/grpc-swift-nio-transport", from: "2.9.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0", traits: []),
    ],
    targets: [
        .executableTarget(
            name: "lagrequests",
            dependencies: [
                .product(name: "LagMonitor", package: "LagMonitor"),
                .product(name: "LagMonitorConcurrency", package: "LagMonitor"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "GRPCCore", package: "grpc-swift-2"),
                .product(name: "GRPCNIOTransportHTTP2Posix", package: "grpc-swift-nio-transport"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: [
                .treatAllWarnings(as: .error), .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("ExistentialAny"),
            ]
        )
    ]
)
