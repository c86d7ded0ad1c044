// swift-tools-version: 6.2
import PackageDescription

// Every layer of the design is a target, so that the compiler keeps the dependency rule: a lower layer cannot name a higher one.
// The core depends on the toolchain and on libunwind alone.

// MARK: Targets by role

/// A layer of the core: `Sources/LagMonitor/<folder>`.
func layer(_ name: String, _ folder: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: cEdge + dependencies, path: "Sources/LagMonitor/\(folder)")
}

/// An adapter: `Sources/Adapters/<folder>`.
func adapter(_ folder: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: "LagMonitor\(folder)", dependencies: dependencies, path: "Sources/Adapters/\(folder)")
}

/// A program that measures the product: `Evaluation/<name>`.
func evaluation(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: cEdge + dependencies, path: "Evaluation/\(name)")
}

/// A program of its own that stalls, hangs or crashes: then that is a finding and not the end of the test run.
func probe(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, path: "Tests/Probes/\(name)")
}

/// The same in C and without the Swift runtime, like the programs that the preloaded library is for.
func cProbe(_ name: String, _ settings: [CSetting] = []) -> Target {
    .executableTarget(
        name: name,
        path: "Tests/Probes/\(name)",
        cSettings: settings,
        linkerSettings: [.unsafeFlags(["-enable-experimental-feature", "Embedded", "-no-stdlib-rpath"])]
    )
}

func support(_ name: String, _ dependencies: [Target.Dependency] = [], _ settings: [CSetting] = []) -> Target {
    .target(name: name, dependencies: dependencies, path: "Tests/Support/\(name)", cSettings: settings)
}

func suite(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies, path: "Tests/Suites/\(name)")
}

/// A package's product that is there with a trait alone: without the trait the package is not even resolved.
func product(_ name: String, of package: String, with trait: String) -> Target.Dependency {
    .product(name: name, package: package, condition: .when(traits: [trait]))
}

let cEdge: [Target.Dependency] = ["CLagBeacon", "CLagLinux"]
let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let logging = product("Logging", of: "swift-log", with: "Logging")
let lifecycle = product("ServiceLifecycle", of: "swift-service-lifecycle", with: "ServiceLifecycle")
let configuration = product("Configuration", of: "swift-configuration", with: "Configuration")
let nio = [product("NIOCore", of: "swift-nio", with: "NIO"), product("NIOPosix", of: "swift-nio", with: "NIO")]
/// C as compilers make it where unwinding is hardest.
let withoutFramePointer: CSetting = .unsafeFlags(["-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls"])

// MARK: The package

let package = Package(
    name: "LagMonitor",
    // lagmond is no product, but every executable target of a root package is one by itself: `swift build --product lagmond`
    // works here, and who uses the library does not even resolve what only lagmond needs.
    products: [
        // Adapters to packages are modules of this product; each is empty unless its trait is on.
        .library(
            name: "LagMonitor",
            targets: [
                "LagMonitor", "LagMonitorLogging", "LagMonitorMetrics", "LagMonitorLifecycle", "LagMonitorConfiguration",
                "LagMonitorNIO",
            ]
        ),
        // Adapters that need nothing but the toolchain are products.
        .library(name: "LagMonitorFoundation", targets: ["LagMonitorFoundation"]),
        .library(name: "LagMonitorExecutors", targets: ["LagMonitorExecutors"]),
        .library(name: "LagMonitorConcurrency", targets: ["LagMonitorConcurrency"]),
        .library(name: "LagMonitorOTLP", targets: ["LagMonitorOTLP"]),
        .library(name: "LagMonitorTestKit", targets: ["LagMonitorTestKit"]),
        // liblagmonitor-preload.so: lagmond loads it into programs that it starts.
        .library(name: "lagmonitor-preload", type: .dynamic, targets: ["LagPreload"]),
    ],
    traits: [
        .trait(name: "Logging", description: "LagMonitorLogging: stalls through swift-log."),
        .trait(name: "Metrics", description: "LagMonitorMetrics: stalls through swift-metrics."),
        .trait(name: "ServiceLifecycle", description: "LagMonitorLifecycle: the monitor as a service of swift-service-lifecycle."),
        .trait(name: "Configuration", description: "LagMonitorConfiguration: settings from swift-configuration."),
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
        // C
        .target(name: "CLagBeacon"),
        .target(name: "CLagLinux", dependencies: ["CLagBeacon"], linkerSettings: [.linkedLibrary("dl")]),
        .target(name: "CLibunwind", dependencies: ["CLagLinux"], linkerSettings: [.linkedLibrary("dl")]),
        .systemLibrary(name: "CZlib", path: "Sources/CZlib", providers: [.apt(["zlib1g-dev"])]),

        // The core
        layer("LagModel", "Model"),
        layer("LagActivity", "Activity"),
        layer("LagRunLoop", "RunLoop", ["LagActivity"]),
        layer("LagCapture", "Capture", ["LagModel", "LagActivity", "CLibunwind"]),
        layer("LagDetection", "Detection", ["LagModel", "LagActivity", "LagCapture", "CLibunwind"]),
        layer("LagDiagnosis", "Diagnosis", ["LagModel"]),
        layer("LagOutput", "Output", ["LagModel"]),
        .target(
            name: "LagMonitor",
            dependencies: cEdge + [
                "CLibunwind", "LagActivity", "LagRunLoop", "LagCapture", "LagDetection", "LagDiagnosis", "LagOutput",
            ],
            exclude: ["Model", "Activity", "RunLoop", "Capture", "Detection", "Diagnosis", "Output"]
        ),

        // Adapters: the core does not know them.
        adapter("Foundation", cEdge + ["LagActivity"]),
        adapter("Executors", ["LagRunLoop"]),
        adapter("Concurrency", cEdge + ["LagMonitor", "LagActivity"]),
        adapter("OTLP", ["LagOutput"]),
        adapter("TestKit", cEdge + ["LagMonitor", "LagActivity"]),
        adapter("Logging", ["LagMonitor", logging]),
        adapter("Metrics", cEdge + ["LagMonitor", product("CoreMetrics", of: "swift-metrics", with: "Metrics")]),
        adapter("Lifecycle", ["LagMonitor", lifecycle]),
        adapter("Configuration", ["LagMonitor", configuration]),
        adapter("NIO", cEdge + ["LagMonitor"] + nio),

        // lagmond
        .target(name: "LagRemote", dependencies: cEdge + ["LagMonitor", "LagActivity", "LagCapture", "LagDetection", "LagOutput"]),
        .target(name: "LagReader", dependencies: ["CZlib", "LagModel"]),
        // Linked as Embedded Swift is, which leaves the Swift runtime out.
        .target(
            name: "LagPreload",
            dependencies: ["CLagBeacon"],
            linkerSettings: [
                .linkedLibrary("dl"),
                .unsafeFlags(["-enable-experimental-feature", "Embedded", "-no-stdlib-rpath"]),
            ]
        ),
        // What stalls a main thread on purpose: lagmond's workload, and the accuracy program's.
        .target(name: "LagWorkload", dependencies: cEdge + ["LagMonitor"], path: "Sources/lagmond/Workload"),
        .executableTarget(
            name: "lagmond",
            dependencies: cEdge + [
                "LagMonitor", "LagModel", "LagMonitorOTLP", "LagDiagnosis", "LagReader", "LagRemote", "LagOutput", "LagWorkload", argumentParser,
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "FlyingFox", package: "FlyingFox"),
                .product(name: "FlyingSocks", package: "FlyingFox"),
            ],
            exclude: ["Workload"],
            // In the program itself: lagmond is one file that can be copied.
            resources: [
                .embedInCode("Report/Page/report.css"),
                .embedInCode("Report/Page/core.js"), .embedInCode("Report/Page/tables.js"), .embedInCode("Report/Page/flame.js"),
                .embedInCode("Report/Page/heat.js"), .embedInCode("Report/Page/timeline.js"),
                .embedInCode("Report/Page/detail.js"), .embedInCode("Report/Page/report.js"),
            ]
        ),

        // What measures the product and is no part of it
        evaluation(
            "lagbench",
            [
                "LagMonitor", "LagMonitorFoundation", "LagActivity", "LagRunLoop", "LagCapture", "LagDetection", "LagDiagnosis",
                "LagOutput", "CLibunwind",
            ]
        ),
        evaluation("lagaccuracy", ["LagMonitor", "LagDetection", "LagWorkload", argumentParser]),
        .target(name: "CStallCorpus", path: "Evaluation/CStallCorpus", cSettings: [withoutFramePointer]),
        evaluation("lagdiagnosis", ["LagMonitor", "LagOutput", "CStallCorpus", argumentParser]),

        // Tests
        support("TestSupport"),
        support("StallFixtures", [], [withoutFramePointer]),
        // Has a malloc of its own, and must not be linked into anything else.
        support("CountingMalloc"),
        support("MainProbeKit", ["LagMonitor"]),

        probe("CaptureProbe", cEdge + ["CLibunwind", "LagActivity", "LagCapture", "LagDiagnosis", "LagMonitor", "StallFixtures"]),
        probe("MonitorProbe", cEdge + ["LagMonitor", "StallFixtures"]),
        probe("AllocationProbe", cEdge + ["LagMonitor", "LagCapture", "LagDiagnosis", "CountingMalloc"]),
        probe("RunLoopProbe", cEdge + ["LagRunLoop", "LagActivity"]),
        probe("EnvironmentProbe", ["LagMonitor", "StallFixtures"]),
        probe("FoundationProbe", ["LagMonitor", "LagMonitorFoundation"]),
        // Who runs the main queue is the program's choice, so each choice is a program.
        probe("MainActorProbe", ["MainProbeKit"]),
        probe("MainQueueProbe", ["MainProbeKit"]),
        probe("PoolProbe", ["LagMonitor", "LagMonitorConcurrency"]),
        cProbe("PreloadProbe"),
        cProbe("RemoteProbe", [.unsafeFlags(["-O2", "-fomit-frame-pointer"])]),
        cProbe("WrapProbe"),
        // Has a monitor of its own, and is watched from another process as well.
        probe("LinkedProbe", ["LagMonitor"]),
        probe("AttachProbe", ["LagMonitor", "LagRemote"]),
        probe("LineProbe", ["LagOutput"]),

        suite("LagDetectionTests", cEdge + ["LagDetection", "LagActivity", "LagCapture", "StallFixtures"]),
        suite(
            "LagMonitorTests",
            cEdge + ["CLibunwind", "TestSupport", "LagMonitor", "LagActivity", "LagOutput", "LagRunLoop", "MonitorProbe", "AllocationProbe"]
        ),
        suite("LagMonitorTestKitTests", ["LagMonitorTestKit", "LagMonitor"]),
        suite(
            "ConventionsTests",
            [
                "LagMonitor", "LagMonitorTestKit", "LagMonitorLogging", "LagMonitorMetrics", "LagMonitorLifecycle",
                "LagMonitorConfiguration", "EnvironmentProbe", logging, lifecycle, configuration,
                product("MetricsTestKit", of: "swift-metrics", with: "Metrics"),
                product("ServiceLifecycleTestKit", of: "swift-service-lifecycle", with: "ServiceLifecycle"),
            ]
        ),
        // What the documentation shows, compiled.
        suite(
            "SnippetTests",
            [
                "LagMonitor", "LagMonitorTestKit", "LagMonitorFoundation", "LagMonitorExecutors", "LagMonitorConcurrency",
                "LagMonitorNIO", "LagMonitorLogging", "LagMonitorMetrics", "LagMonitorLifecycle", "LagMonitorConfiguration",
                logging, lifecycle, configuration, product("UnixSignals", of: "swift-service-lifecycle", with: "ServiceLifecycle"),
            ] + nio
        ),
        suite("LagCaptureTests", ["LagCapture", "CaptureProbe"]),
        suite("LagRunLoopTests", cEdge + ["LagRunLoop", "LagActivity", "RunLoopProbe"]),
        suite("LagMonitorFoundationTests", cEdge + ["TestSupport", "LagMonitor", "LagMonitorFoundation", "FoundationProbe"]),
        suite("MainQueueTests", ["TestSupport", "MainActorProbe", "MainQueueProbe"]),
        suite("LagMonitorExecutorsTests", ["LagMonitor", "LagMonitorExecutors"]),
        suite("LagMonitorConcurrencyTests", cEdge + ["TestSupport", "LagMonitor", "LagMonitorConcurrency", "PoolProbe"]),
        suite("LagMonitorNIOTests", cEdge + ["LagMonitorNIO", "LagMonitor", "StallFixtures"] + nio),
        suite("RemoteTests", cEdge + ["LagMonitor", "LagRemote", "LagActivity", "LagDetection", "RemoteProbe", "LinkedProbe"]),
        suite("AttachTests", cEdge + ["LagMonitor", "LagRemote", "LagActivity", "RemoteProbe", "AttachProbe"]),
        suite("LagPreloadTests", cEdge),
        suite("WrapTests", cEdge + ["lagmond", "LagMonitor", "LagRemote", "LagOutput"]),
        suite("LagOutputTests", cEdge + ["LagOutput"]),
        suite("LagMonitorOTLPTests", ["LagMonitorOTLP", "LagOutput"]),
        // Last in the suite by `make test`: every line that its programs made, against the schema.
        suite("LagSchemaTests", ["LagReader", "LagOutput", "LineProbe", "lagmond"]),
        suite("LagDiagnosisTests", ["LagDiagnosis", "StallFixtures"]),
        suite("LagReaderTests", ["LagReader", "LagOutput"]),
        suite("lagbenchTests", ["lagbench"]),
        suite("lagaccuracyTests", ["lagaccuracy", "LagMonitor", "LagWorkload"]),
        suite("lagdiagnosisTests", ["lagdiagnosis", "LagOutput"]),
        suite(
            "lagmondTests",
            ["lagmond", "LagMonitor", "LagDiagnosis", "LagReader", "LagRemote", "LagOutput", "LagWorkload", "LineProbe", "MonitorProbe"]
        ),
    ]
)

// MARK: Settings of all targets

for target in package.targets where target.type != .system {
    target.swiftSettings = [
        .treatAllWarnings(as: .error),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("ExistentialAny"),
    ]
    target.cSettings =
        (target.cSettings ?? []) + [
            .enableWarning("all"), .enableWarning("extra"), .disableWarning("unused-parameter"), .treatAllWarnings(as: .error),
        ]
}
