// swift-tools-version: 6.2
import PackageDescription

// A server without LagMonitor, for `lagmond run`. It depends only on SwiftNIO.
let package = Package(
    name: "PlainNIOServer",
    dependencies: [.package(url: "https://github.com/apple/swift-nio", from: "2.101.0")],
    targets: [
        .executableTarget(
            name: "PlainNIOServer",
            dependencies: [
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: [.treatAllWarnings(as: .error), .enableUpcomingFeature("MemberImportVisibility")]
        )
    ]
)
