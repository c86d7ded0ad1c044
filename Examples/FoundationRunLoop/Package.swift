// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "FoundationRunLoop",
    dependencies: [.package(name: "LagMonitor", path: "../..")],
    targets: [
        .executableTarget(
            name: "FoundationRunLoop",
            dependencies: [
                .product(name: "LagMonitor", package: "LagMonitor"),
                .product(name: "LagMonitorFoundation", package: "LagMonitor"),
            ]
        )
    ]
)
