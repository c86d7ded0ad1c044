// swift-tools-version: 6.2
import PackageDescription

// Stalls in services that embed the monitor: the main actor, tasks, actors, executors, SwiftNIO, Hummingbird, GRDB. A separate
// package, so that their dependencies do not become dependencies of the monitor.
let package = Package(
    name: "EvaluationServices",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "LagMonitor", path: "../..", traits: ["NIO", "Hummingbird"]),
        .package(url: "https://github.com/apple/swift-collections", from: "1.1.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0", traits: []),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.0"),
    ],
    targets: [
        .executableTarget(
            name: "servicestalls",
            dependencies: [
                "Yams",
                .product(name: "HeapModule", package: "swift-collections"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "LagMonitor", package: "LagMonitor"),
                .product(name: "LagMonitorConcurrency", package: "LagMonitor"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: [
                .treatAllWarnings(as: .error), .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("ExistentialAny"),
            ]
        )
    ]
)
