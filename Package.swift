// swift-tools-version: 6.2
import PackageDescription

// Every room of the design is a target of its own, so that the compiler keeps the walls:
// a lower room cannot name a higher one. The core depends on the toolchain and on libunwind alone.
let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("ExistentialAny"),
]
let strictC: [CSetting] = [
    .enableWarning("all"), .enableWarning("extra"), .disableWarning("unused-parameter"), .treatAllWarnings(as: .error),
]

let package = Package(
    name: "LagMonitor",
    // lagmond is no product, but every executable target of a root package is one by itself: `swift build --product lagmond`
    // works here, and who uses the library does not even resolve what only lagmond needs.
    products: [
        .library(name: "LagMonitor", targets: ["LagMonitor"]),
        .library(name: "LagMonitorFoundation", targets: ["LagMonitorFoundation"]),
        .library(name: "LagMonitorExecutors", targets: ["LagMonitorExecutors"]),
        .library(name: "LagMonitorConcurrency", targets: ["LagMonitorConcurrency"]),
        .library(name: "LagMonitorNIO", targets: ["LagMonitorNIO"]),
        .library(name: "LagMonitorOTLP", targets: ["LagMonitorOTLP"]),
        .library(name: "LagMonitorTestKit", targets: ["LagMonitorTestKit"]),
        .library(name: "LagMonitorLogging", targets: ["LagMonitorLogging"]),
        .library(name: "LagMonitorMetrics", targets: ["LagMonitorMetrics"]),
        .library(name: "LagMonitorLifecycle", targets: ["LagMonitorLifecycle"]),
        .library(name: "LagMonitorConfigReader", targets: ["LagMonitorConfigReader"]),
        // liblagmonitor-preload.so: lagmond loads it into programs that it starts.
        .library(name: "lagmonitor-preload", type: .dynamic, targets: ["LagPreload"]),
    ],
    // A product with a dependency is empty unless its trait is on; then the dependency is not resolved either.
    traits: [
        .trait(name: "Logging", description: "LagMonitorLogging: stalls through swift-log."),
        .trait(name: "Metrics", description: "LagMonitorMetrics: stalls through swift-metrics."),
        .trait(
            name: "ServiceLifecycle",
            description: "LagMonitorLifecycle: the monitor as a service of swift-service-lifecycle."
        ),
        .trait(name: "Configuration", description: "LagMonitorConfigReader: settings from swift-configuration."),
        .trait(name: "NIO", description: "LagMonitorNIO: watch SwiftNIO's event loops."),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.6.3"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.7.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.8.0"),
        .package(url: "https://github.com/swhitty/FlyingFox", from: "0.27.1"),
    ],
    targets: [
        .target(name: "CLibunwind", cSettings: strictC, linkerSettings: [.linkedLibrary("dl")]),
        .target(name: "LagActivity", dependencies: ["CLibunwind"], path: "Sources/LagMonitor/Activity", swiftSettings: strict),
        .target(
            name: "LagRunLoop",
            dependencies: ["LagActivity", "CLibunwind"],
            path: "Sources/LagMonitor/RunLoop",
            swiftSettings: strict
        ),
        .target(
            name: "LagCapture",
            dependencies: ["LagActivity", "CLibunwind"],
            path: "Sources/LagMonitor/Capture",
            swiftSettings: strict
        ),
        .target(
            name: "LagDetection",
            dependencies: ["LagActivity", "LagCapture", "CLibunwind"],
            path: "Sources/LagMonitor/Detection",
            swiftSettings: strict
        ),
        .target(
            name: "LagDiagnosis",
            dependencies: ["CLibunwind"],
            path: "Sources/LagMonitor/Diagnosis",
            swiftSettings: strict
        ),
        .target(name: "LagReport", dependencies: ["CLibunwind"], path: "Sources/LagMonitor/Report", swiftSettings: strict),
        .target(
            name: "LagMonitor",
            dependencies: ["LagActivity", "LagRunLoop", "LagCapture", "LagDetection", "LagDiagnosis", "LagReport", "CLibunwind"],
            path: "Sources/LagMonitor",
            exclude: ["Activity", "RunLoop", "Capture", "Detection", "Diagnosis", "Report"],
            swiftSettings: strict
        ),
        // Adapters to other loops: the core does not know them.
        .target(name: "LagMonitorFoundation", dependencies: ["LagActivity", "CLibunwind"], swiftSettings: strict),
        .target(name: "LagMonitorExecutors", dependencies: ["LagRunLoop"], swiftSettings: strict),
        .target(name: "LagMonitorConcurrency", dependencies: ["LagMonitor", "LagActivity", "CLibunwind"], swiftSettings: strict),
        .target(
            name: "LagMonitorNIO",
            dependencies: [
                "LagMonitor", "CLibunwind",
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["NIO"])),
                .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["NIO"])),
            ],
            swiftSettings: strict
        ),
        // Lines over HTTP: Foundation's client stays out of the core.
        .target(name: "LagMonitorOTLP", dependencies: ["LagReport"], swiftSettings: strict),
        // Manual time and scripted loops, for the tests of those who use the monitor.
        .target(name: "LagMonitorTestKit", dependencies: ["LagMonitor", "LagActivity", "CLibunwind"], swiftSettings: strict),
        .target(
            name: "LagMonitorLogging",
            dependencies: [
                "LagMonitor",
                .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Logging"])),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "LagMonitorMetrics",
            dependencies: [
                "LagMonitor", "CLibunwind",
                .product(name: "CoreMetrics", package: "swift-metrics", condition: .when(traits: ["Metrics"])),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "LagMonitorLifecycle",
            dependencies: [
                "LagMonitor",
                .product(
                    name: "ServiceLifecycle",
                    package: "swift-service-lifecycle",
                    condition: .when(traits: ["ServiceLifecycle"])
                ),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "LagMonitorConfigReader",
            dependencies: [
                "LagMonitor",
                .product(
                    name: "Configuration",
                    package: "swift-configuration",
                    condition: .when(traits: ["Configuration"])
                ),
            ],
            swiftSettings: strict
        ),
        // What stalls a main thread on purpose: lagmond's workload, and the accuracy program's.
        .target(
            name: "LagWorkload",
            dependencies: ["LagMonitor", "CLibunwind"],
            path: "Sources/lagmond/Workload",
            swiftSettings: strict
        ),
        // Lines read back: files, gzip, stdin. zlib is lagmond's alone.
        .systemLibrary(name: "CZlib", path: "Sources/CZlib", providers: [.apt(["zlib1g-dev"])]),
        .target(name: "LagReader", dependencies: ["CZlib"], path: "Sources/lagmond/Reader", swiftSettings: strict),
        .executableTarget(
            name: "lagmond",
            dependencies: [
                "LagMonitor",
                "LagMonitorOTLP",
                "CLibunwind",
                "LagDiagnosis",
                "LagReader",
                "LagReport",
                "LagWorkload",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "FlyingFox", package: "FlyingFox"),
                .product(name: "FlyingSocks", package: "FlyingFox"),
            ],
            exclude: ["Reader", "Workload"],
            // In the program itself: lagmond is one file that can be copied.
            resources: [
                .embedInCode("Schema/lagmonitor.stall.v1.schema.json"),
                .embedInCode("Report/Page/report.css"),
                .embedInCode("Report/Page/core.js"), .embedInCode("Report/Page/tables.js"), .embedInCode("Report/Page/flame.js"),
                .embedInCode("Report/Page/heat.js"), .embedInCode("Report/Page/timeline.js"),
                .embedInCode("Report/Page/detail.js"),
                .embedInCode("Report/Page/report.js"),
            ],
            swiftSettings: strict
        ),
        // Loaded into programs that are no Swift: needs libc alone. Linked as Embedded Swift is, which leaves the Swift runtime out.
        .target(
            name: "LagPreload",
            cSettings: strictC + [.headerSearchPath("../CLibunwind/include")],
            linkerSettings: [
                .linkedLibrary("dl"),
                .unsafeFlags(["-enable-experimental-feature", "Embedded", "-no-stdlib-rpath"]),
            ]
        ),
        // Test helpers: programs of their own, so that a hang or a crash is a finding and not the end of the test run.
        .target(name: "ProbeSupport", path: "Tests/ProbeSupport", swiftSettings: strict),
        .target(
            name: "StallFixtures",
            path: "Tests/StallFixtures",
            cSettings: [.unsafeFlags(["-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls"])]
        ),
        .executableTarget(
            name: "lagbench",
            dependencies: [
                "LagMonitor", "LagMonitorFoundation", "LagActivity", "LagRunLoop", "LagCapture", "LagDetection", "LagDiagnosis",
                "LagReport", "CLibunwind",
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "lagaccuracy",
            dependencies: [
                "LagMonitor", "LagDetection", "LagWorkload", "CLibunwind",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: strict
        ),
        // Stalls with known cause and culprit, and the program that holds the records against them.
        .target(
            name: "CStallCorpus",
            cSettings: strictC + [.unsafeFlags(["-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls"])]
        ),
        .executableTarget(
            name: "lagdiagnosis",
            dependencies: [
                "LagMonitor", "LagReport", "CLibunwind", "CStallCorpus",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "CaptureProbe",
            dependencies: ["LagActivity", "LagCapture", "LagDiagnosis", "LagMonitor", "CLibunwind", "StallFixtures"],
            path: "Tests/CaptureProbe",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "MonitorProbe",
            dependencies: ["LagMonitor", "CLibunwind", "StallFixtures"],
            path: "Tests/MonitorProbe",
            swiftSettings: strict
        ),
        // Has a malloc of its own, and must not be linked into anything else.
        .target(name: "CountingMalloc", path: "Tests/CountingMalloc", cSettings: strictC),
        .executableTarget(
            name: "AllocationProbe",
            dependencies: ["LagMonitor", "LagCapture", "LagDiagnosis", "CLibunwind", "CountingMalloc"],
            path: "Tests/AllocationProbe",
            swiftSettings: strict
        ),
        .testTarget(
            name: "LagDetectionTests",
            dependencies: ["LagDetection", "LagActivity", "LagCapture", "CLibunwind", "StallFixtures"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "LagMonitorTests",
            dependencies: [
                "ProbeSupport",
                "LagMonitor", "LagActivity", "LagReport", "LagRunLoop", "CLibunwind", "MonitorProbe", "AllocationProbe",
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "RunLoopProbe",
            dependencies: ["LagRunLoop", "LagActivity", "CLibunwind"],
            path: "Tests/RunLoopProbe",
            swiftSettings: strict
        ),
        .testTarget(
            name: "LagMonitorTestKitTests",
            dependencies: ["LagMonitorTestKit", "LagMonitor"],
            swiftSettings: strict
        ),
        // Programs that activate the monitor by one line.
        .executableTarget(
            name: "EnvironmentProbe",
            dependencies: ["LagMonitor", "StallFixtures"],
            path: "Tests/EnvironmentProbe",
            swiftSettings: strict
        ),
        .testTarget(
            name: "ConventionsTests",
            dependencies: [
                "LagMonitor", "LagMonitorTestKit", "LagMonitorLogging", "LagMonitorMetrics", "LagMonitorLifecycle",
                "LagMonitorConfigReader", "EnvironmentProbe",
                .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Logging"])),
                .product(name: "MetricsTestKit", package: "swift-metrics", condition: .when(traits: ["Metrics"])),
                .product(
                    name: "ServiceLifecycle",
                    package: "swift-service-lifecycle",
                    condition: .when(traits: ["ServiceLifecycle"])
                ),
                .product(
                    name: "ServiceLifecycleTestKit",
                    package: "swift-service-lifecycle",
                    condition: .when(traits: ["ServiceLifecycle"])
                ),
                .product(
                    name: "Configuration",
                    package: "swift-configuration",
                    condition: .when(traits: ["Configuration"])
                ),
            ],
            swiftSettings: strict
        ),
        // What the documentation shows, compiled.
        .testTarget(
            name: "SnippetTests",
            dependencies: [
                "LagMonitor", "LagMonitorTestKit", "LagMonitorFoundation", "LagMonitorExecutors", "LagMonitorConcurrency",
                "LagMonitorNIO",
                "LagMonitorLogging", "LagMonitorMetrics", "LagMonitorLifecycle", "LagMonitorConfigReader",
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["NIO"])),
                .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["NIO"])),
                .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Logging"])),
                .product(
                    name: "ServiceLifecycle",
                    package: "swift-service-lifecycle",
                    condition: .when(traits: ["ServiceLifecycle"])
                ),
                .product(
                    name: "UnixSignals",
                    package: "swift-service-lifecycle",
                    condition: .when(traits: ["ServiceLifecycle"])
                ),
                .product(
                    name: "Configuration",
                    package: "swift-configuration",
                    condition: .when(traits: ["Configuration"])
                ),
            ],
            swiftSettings: strict
        ),
        .testTarget(name: "LagCaptureTests", dependencies: ["LagCapture", "CaptureProbe"], swiftSettings: strict),
        .testTarget(
            name: "LagRunLoopTests",
            dependencies: ["LagRunLoop", "LagActivity", "CLibunwind", "RunLoopProbe"],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "FoundationProbe",
            dependencies: ["LagMonitor", "LagMonitorFoundation"],
            path: "Tests/FoundationProbe",
            swiftSettings: strict
        ),
        .testTarget(
            name: "LagMonitorFoundationTests",
            dependencies: ["ProbeSupport", "LagMonitor", "LagMonitorFoundation", "CLibunwind", "FoundationProbe"],
            swiftSettings: strict
        ),
        // Who runs the main queue is the program's choice, so each choice is a program.
        .target(name: "MainProbeKit", dependencies: ["LagMonitor"], path: "Tests/MainProbeKit", swiftSettings: strict),
        .executableTarget(
            name: "MainActorProbe",
            dependencies: ["MainProbeKit"],
            path: "Tests/MainActorProbe",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "MainQueueProbe",
            dependencies: ["MainProbeKit"],
            path: "Tests/MainQueueProbe",
            swiftSettings: strict
        ),
        .testTarget(
            name: "MainQueueTests",
            dependencies: ["ProbeSupport", "MainActorProbe", "MainQueueProbe"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "LagMonitorExecutorsTests",
            dependencies: ["LagMonitor", "LagMonitorExecutors"],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "PoolProbe",
            dependencies: ["LagMonitor", "LagMonitorConcurrency"],
            path: "Tests/PoolProbe",
            swiftSettings: strict
        ),
        .testTarget(
            name: "LagMonitorConcurrencyTests",
            dependencies: ["ProbeSupport", "LagMonitor", "LagMonitorConcurrency", "CLibunwind", "PoolProbe"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "LagMonitorNIOTests",
            dependencies: [
                "LagMonitorNIO", "LagMonitor", "CLibunwind", "StallFixtures",
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["NIO"])),
                .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["NIO"])),
            ],
            swiftSettings: strict
        ),
        // A program that waits, and knows of nothing: C alone, like those that the preloaded library is for.
        .executableTarget(
            name: "PreloadProbe",
            path: "Tests/PreloadProbe",
            cSettings: strictC,
            linkerSettings: [.unsafeFlags(["-enable-experimental-feature", "Embedded", "-no-stdlib-rpath"])]
        ),
        // The same with handlers that stall; watched from another process.
        .executableTarget(
            name: "RemoteProbe",
            path: "Tests/RemoteProbe",
            cSettings: [.unsafeFlags(["-O2", "-fomit-frame-pointer"])],
            linkerSettings: [.unsafeFlags(["-enable-experimental-feature", "Embedded", "-no-stdlib-rpath"])]
        ),
        // One with a monitor of its own, watched from another process as well.
        .executableTarget(
            name: "LinkedProbe",
            dependencies: ["LagMonitor"],
            path: "Tests/LinkedProbe",
            swiftSettings: strict
        ),
        .testTarget(
            name: "RemoteTests",
            dependencies: ["LagMonitor", "LagActivity", "LagDetection", "CLibunwind", "RemoteProbe", "LinkedProbe"],
            swiftSettings: strict
        ),
        // Attaches to a process, and is killed.
        .executableTarget(
            name: "AttachProbe",
            dependencies: ["LagMonitor"],
            path: "Tests/AttachProbe",
            swiftSettings: strict
        ),
        .testTarget(
            name: "AttachTests",
            dependencies: ["LagMonitor", "LagActivity", "CLibunwind", "RemoteProbe", "AttachProbe"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "LagPreloadTests",
            dependencies: ["CLibunwind"],
            swiftSettings: strict
        ),
        // A command to wrap, and a shell with a terminal.
        .executableTarget(
            name: "WrapProbe",
            path: "Tests/WrapProbe",
            cSettings: strictC,
            linkerSettings: [.unsafeFlags(["-enable-experimental-feature", "Embedded", "-no-stdlib-rpath"])]
        ),
        .testTarget(
            name: "WrapTests",
            dependencies: ["lagmond", "LagMonitor", "LagReport", "CLibunwind"],
            swiftSettings: strict
        ),
        .testTarget(name: "LagReportTests", dependencies: ["LagReport", "CLibunwind"], swiftSettings: strict),
        .testTarget(name: "LagMonitorOTLPTests", dependencies: ["LagMonitorOTLP", "LagReport"], swiftSettings: strict),
        // Lines with the worst that a record can hold, made by the project's own writer: for readers that are not ours.
        .executableTarget(name: "LineProbe", dependencies: ["LagReport"], path: "Tests/LineProbe", swiftSettings: strict),
        // Last in the suite by `make test`: every line that its programs made, against the schema.
        .testTarget(
            name: "LagSchemaTests",
            dependencies: ["LagReader", "LagReport", "LineProbe", "lagmond"],
            swiftSettings: strict
        ),
        .testTarget(name: "LagDiagnosisTests", dependencies: ["LagDiagnosis", "StallFixtures"], swiftSettings: strict),
        .testTarget(name: "LagReaderTests", dependencies: ["LagReader", "LagReport"], swiftSettings: strict),
        .testTarget(name: "lagbenchTests", dependencies: ["lagbench"], swiftSettings: strict),
        .testTarget(
            name: "lagaccuracyTests",
            dependencies: ["lagaccuracy", "LagMonitor", "LagWorkload"],
            swiftSettings: strict
        ),
        .testTarget(name: "lagdiagnosisTests", dependencies: ["lagdiagnosis", "LagReport"], swiftSettings: strict),
        .testTarget(
            name: "lagmondTests",
            dependencies: [
                "lagmond", "LagMonitor", "LagDiagnosis", "LagReader", "LagReport", "LagWorkload", "LineProbe", "MonitorProbe",
            ],
            swiftSettings: strict
        ),
    ]
)
