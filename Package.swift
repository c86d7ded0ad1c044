// swift-tools-version: 6.2
import PackageDescription

// Every layer is a target, so that a lower one cannot name a higher one. The core depends on the toolchain and on libunwind alone.

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
    .executableTarget(name: name, dependencies: ["TestSupport"] + dependencies, path: "Tests/Probes/\(name)")
}

func support(_ name: String, _ dependencies: [Target.Dependency] = [], _ settings: [CSetting] = []) -> Target {
    .target(name: name, dependencies: dependencies, path: "Tests/Support/\(name)", cSettings: settings)
}

/// A test suite: `Tests/Suites/<folder>`.
func suite(_ name: String, _ folder: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: ["TestSupport"] + dependencies, path: "Tests/Suites/\(folder)")
}

/// A package's product that is there with a trait alone: without the trait the package is not even resolved.
func product(_ name: String, of package: String, with trait: String) -> Target.Dependency {
    .product(name: name, package: package, condition: .when(traits: [trait]))
}

let cEdge: [Target.Dependency] = ["CLagBeacon", "CLagLinux"]
let layers: [Target.Dependency] = [
    "CLibunwind", "LagModel", "LagActivity", "LagRunLoop", "LagCapture", "LagDetection", "LagDiagnosis", "LagOutput",
]
let core = cEdge + layers
let monitor = core + ["LagMonitor"]
let remote = monitor + ["CLagRemote", "LagRemote"]
// Adapters that need nothing but the toolchain are products.
let products: [Product] = [
    "LagMonitorFoundation", "LagMonitorConcurrency", "LagMonitorDelivery", "LagMonitorOTLP", "LagMonitorTestKit", "LagSymbols",
].map { .library(name: $0, targets: [$0]) }
let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let logging = product("Logging", of: "swift-log", with: "Logging")
let lifecycle = product("ServiceLifecycle", of: "swift-service-lifecycle", with: "ServiceLifecycle")
let service = [lifecycle, product("Logging", of: "swift-log", with: "ServiceLifecycle")]
let configuration = product("Configuration", of: "swift-configuration", with: "Configuration")
let tracing = product("Tracing", of: "swift-distributed-tracing", with: "Tracing")
let hummingbird = product("Hummingbird", of: "hummingbird", with: "Hummingbird")
let httpTypes = product("HTTPTypes", of: "swift-http-types", with: "Hummingbird")
let grpc = product("GRPCCore", of: "grpc-swift-2", with: "GRPC")
let nio = [product("NIOCore", of: "swift-nio", with: "NIO"), product("NIOPosix", of: "swift-nio", with: "NIO")]
/// C as compilers make it where unwinding is hardest.
let withoutFramePointer: CSetting = .unsafeFlags(["-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls"])
let withoutRuntime: LinkerSetting = .unsafeFlags(["-enable-experimental-feature", "Embedded", "-no-stdlib-rpath"])

// MARK: The package

let package = Package(
    name: "LagMonitor",
    // Of what does nothing there: the least that has `Duration`.
    platforms: [.macOS(.v13), .iOS(.v16), .tvOS(.v16), .watchOS(.v9)],
    // lagmond is no product, but every executable target of a root package is one by itself: `swift build --product lagmond`
    // works here, and who uses the library does not even resolve what only lagmond needs.
    products: [
        // Adapters to packages are modules of this product; each is empty unless its trait is on.
        .library(
            name: "LagMonitor",
            targets: [
                "LagMonitor", "LagMonitorLogging", "LagMonitorMetrics", "LagMonitorLifecycle", "LagMonitorConfiguration",
                "LagMonitorNIO", "LagMonitorTracing", "LagMonitorHummingbird", "LagMonitorGRPC",
            ]
        ),
        // liblagmonitor-preload.so: lagmond loads it into programs that it starts.
        .library(name: "lagmonitor-preload", type: .dynamic, targets: ["LagPreload"]),
    ] + products,
    traits: [
        .trait(name: "Logging", description: "LagMonitorLogging: stalls through swift-log."),
        .trait(name: "Metrics", description: "LagMonitorMetrics: stalls through swift-metrics."),
        .trait(name: "ServiceLifecycle", description: "LagMonitorLifecycle: a service of swift-service-lifecycle."),
        .trait(name: "Configuration", description: "LagMonitorConfiguration: settings from swift-configuration."),
        .trait(name: "Tracing", description: "LagMonitorTracing: the traces of swift-distributed-tracing."),
        .trait(name: "NIO", description: "LagMonitorNIO: watch SwiftNIO's event loops, and which message it was."),
        .trait(name: "Hummingbird", description: "LagMonitorHummingbird: which request of a Hummingbird server it was."),
        .trait(name: "GRPC", description: "LagMonitorGRPC: which call of a grpc-swift-2 server it was."),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0", traits: []),
        .package(url: "https://github.com/apple/swift-log", from: "1.6.3"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.7.0"),
        .package(url: "https://github.com/grpc/grpc-swift-2", from: "2.4.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0", traits: []),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.8.0"),
    ],
    targets: [
        // C
        .target(name: "CLagBeacon"),
        .target(name: "CLagLinux", dependencies: ["CLagBeacon"], linkerSettings: [.linkedLibrary("dl")]),
        .target(name: "CLagRemote", dependencies: cEdge),
        // OpenTelemetry's: libcurl, loaded when it is needed; contexts for readers outside.
        .target(name: "CLagOTLP", dependencies: cEdge, linkerSettings: [.linkedLibrary("dl")]),
        .target(name: "CLibunwind", dependencies: ["CLagLinux"], linkerSettings: [.linkedLibrary("dl")]),
        .systemLibrary(name: "CZlib", path: "Sources/CZlib", providers: [.apt(["zlib1g-dev"])]),

        // The core
        layer("LagModel", "Model"),
        layer("LagActivity", "Activity"),
        layer("LagRunLoop", "RunLoop", ["LagModel", "LagActivity"]),
        layer("LagCapture", "Capture", ["LagModel", "LagActivity", "CLibunwind"]),
        layer("LagDetection", "Detection", ["LagModel", "LagActivity", "LagCapture", "CLibunwind"]),
        layer("LagDiagnosis", "Diagnosis", ["LagModel"]),
        layer("LagOutput", "Output", ["LagModel"]),
        .target(
            name: "LagMonitor",
            dependencies: core,
            exclude: ["Model", "Activity", "RunLoop", "Capture", "Detection", "Diagnosis", "Output"]
        ),

        // Adapters: the core does not know them.
        adapter("Foundation", cEdge + ["LagActivity"]),
        adapter("Concurrency", monitor),
        // Other formats than JSON lines; sockets, the journal, the spool.
        adapter("Delivery", cEdge + ["LagOutput"]),
        adapter("OTLP", ["CLagOTLP", "LagModel", "LagOutput", "LagMonitorDelivery"]),
        adapter("TestKit", cEdge + ["LagMonitor", "LagActivity", "LagCapture", "LagDetection", "LagOutput"]),
        adapter("Logging", ["LagMonitor", logging]),
        adapter("Metrics", cEdge + ["LagMonitor", product("CoreMetrics", of: "swift-metrics", with: "Metrics")]),
        adapter("Lifecycle", ["LagMonitor", "LagMonitorConcurrency", "LagMonitorNIO"] + service + nio),
        adapter("Configuration", ["LagMonitor", configuration]),
        adapter("NIO", cEdge + ["LagMonitor"] + nio),
        adapter("Tracing", ["LagMonitor", tracing]),
        adapter("Hummingbird", ["LagMonitor", "LagMonitorTracing", hummingbird, httpTypes]),
        adapter("GRPC", ["LagMonitor", "LagMonitorTracing", grpc]),

        // lagmond. LagSymbols: files and lines from a kept llvm-symbolizer.
        .target(name: "LagSymbols", dependencies: cEdge + ["CLagRemote", "LagModel", "LagDiagnosis"]),
        .target(name: "LagRemote", dependencies: monitor + ["CLagRemote"]),
        .target(name: "LagReader", dependencies: ["CZlib", "LagModel"]),
        // Linked as Embedded Swift is, which leaves the Swift runtime out; by lld, which imports nothing for the parts of CLagBeacon that
        // it drops (gold does, and other C libraries lack some of it).
        .target(
            name: "LagPreload",
            dependencies: ["CLagBeacon"],
            linkerSettings: [.linkedLibrary("dl"), withoutRuntime, .unsafeFlags(["-use-ld=lld"])]
        ),
        // What stalls a main thread on purpose: lagmond's workload, and the accuracy program's.
        .target(
            name: "LagWorkload",
            dependencies: cEdge + ["LagMonitor", "LagModel", "LagOutput"],
            path: "Sources/lagmond/Workload"
        ),
        .executableTarget(
            name: "lagmond",
            dependencies: remote + [
                "LagMonitorDelivery", "LagMonitorOTLP", "LagSymbols", "LagReader", "LagWorkload", argumentParser,
            ] + ["NIOCore", "NIOPosix", "NIOHTTP1"].map { .product(name: $0, package: "swift-nio") },
            exclude: ["Workload"],
            // In the program itself: lagmond is one file that can be copied.
            resources: ["core", "tables", "flame", "tree", "link", "heat", "timeline", "detail", "report"]
                .map { .embedInCode("ReportPage/Page/\($0).js") } + [.embedInCode("ReportPage/Page/report.css")]
        ),

        // What measures the product and is no part of it
        evaluation("lagbench", layers + ["CLagRemote", "LagMonitor", "LagMonitorFoundation", "LagSymbols"]),
        evaluation("lagaccuracy", ["TestSupport", "LagMonitor", "LagDetection", "LagWorkload", "StallFixtures", argumentParser]),
        evaluation("lagdiagnosis", ["LagMonitor", "LagOutput", "StallFixtures", argumentParser]),
        .executableTarget(
            name: "lagfuzz",
            dependencies: monitor + ["CLagRemote", "TestSupport", "LagMonitorDelivery", "LagReader"],
            path: "Evaluation/Fuzz",
            exclude: ["Corpus", "README.md"]
        ),
        // Tests
        support("TestSupport", ["LagMonitor"]),
        support("StallFixtures", [], [withoutFramePointer]),
        support("CountingMalloc"),  // Has a malloc of its own: never linked into anything else.
        probe("CaptureProbe", monitor + ["StallFixtures"]),
        probe("MonitorProbe", remote + ["LagMonitorConcurrency", "LagMonitorOTLP", "LagSymbols", "StallFixtures"]),
        probe("AllocationProbe", cEdge + ["LagMonitor", "LagCapture", "LagDiagnosis", "CountingMalloc"]),
        // Who runs the main queue is the program's choice: an asynchronous one is another program.
        probe("FoundationProbe", ["LagModel", "LagMonitor", "LagMonitorConcurrency", "LagMonitorFoundation"]),
        probe("MainActorProbe", []),
        // In C and without the Swift runtime, like the programs that the preloaded library is for.
        .executableTarget(
            name: "ForeignProbe",
            path: "Tests/Probes/ForeignProbe",
            cSettings: [withoutFramePointer],
            // OpenTelemetry's variable is found by who reads it from outside.
            linkerSettings: [withoutRuntime, .unsafeFlags(["-Xlinker", "--export-dynamic-symbol=otel_thread_ctx_v1"])]
        ),

        // A suite a layer; its folders are its parts.
        suite("LagRunLoopTests", "RunLoop", cEdge + ["LagRunLoop", "LagActivity", "MonitorProbe"]),
        suite("LagCaptureTests", "Capture", cEdge + ["CLibunwind", "LagCapture", "CaptureProbe"]),
        suite("LagDetectionTests", "Detection", cEdge + ["LagDetection", "LagActivity", "LagCapture", "StallFixtures"]),
        suite("LagDiagnosisTests", "Diagnosis", ["LagDiagnosis", "LagSymbols", "StallFixtures"]),
        // Last in the suite by `make test`: every line that its programs made, against the schema.
        suite(
            "LagOutputTests",
            "Output",
            cEdge + ["LagOutput", "LagReader", "LagMonitorDelivery", "LagMonitorOTLP", "MonitorProbe", "lagmond", "lagfuzz"]
        ),
        suite(
            "LagMonitorTests",
            "Monitor",
            monitor + [
                "LagReader", "LagMonitorDelivery", "LagMonitorTestKit", "MonitorProbe", "AllocationProbe", "MainActorProbe",
                "FoundationProbe",
            ]
        ),
        suite(
            "LagAdapterTests",
            "Adapters",
            cEdge + [
                "LagMonitor", "LagOutput", "LagMonitorFoundation", "LagMonitorConcurrency",
                "LagMonitorDelivery", "LagMonitorOTLP", "LagMonitorTestKit", "LagMonitorNIO", "LagMonitorLogging",
                "LagMonitorMetrics", "LagMonitorLifecycle", "LagMonitorConfiguration", "LagMonitorTracing",
                "LagMonitorHummingbird", "LagMonitorGRPC", "LagSymbols", "StallFixtures", "FoundationProbe", "MonitorProbe",
                logging, lifecycle, configuration, tracing, hummingbird, httpTypes, grpc,
                product("MetricsTestKit", of: "swift-metrics", with: "Metrics"),
                product("ServiceLifecycleTestKit", of: "swift-service-lifecycle", with: "ServiceLifecycle"),
                product("UnixSignals", of: "swift-service-lifecycle", with: "ServiceLifecycle"),
            ] + nio
        ),
        suite("LagRemoteTests", "Remote", remote + ["LagMonitorOTLP", "MonitorProbe", "ForeignProbe"]),
        suite(
            "lagmondTests",
            "lagmond",
            remote + ["lagmond", "LagMonitorDelivery", "LagSymbols", "LagReader", "LagWorkload", "MonitorProbe", "ForeignProbe"]
        ),
        suite("EvaluationTests", "Evaluation", monitor + ["lagbench", "lagaccuracy", "lagdiagnosis", "lagfuzz", "LagWorkload"]),
    ]
)

// MARK: Other platforms

// Stalls are found on Linux with glibc. Elsewhere the same modules have the same public API and do nothing, made of
// Sources/Unsupported and of what is portable; nothing else is built. The system that builds decides, or
// LAGMONITOR_UNSUPPORTED in its environment: 1 or 0. (A condition on a platform decides about a target, never about its files.)
let choice = Context.environment["LAGMONITOR_UNSUPPORTED"]
#if os(Linux)
    let isUnsupported = choice == "1"
#else
    let isUnsupported = choice != "0"
#endif
if isUnsupported {
    let sources: [String: [String]] = [
        "LagModel": ["Unsupported/LagModel", "LagMonitor/Model"],
        "LagActivity": ["Unsupported/LagActivity", "LagMonitor/Activity/Portable"],
        "LagRunLoop": ["Unsupported/LagRunLoop", "LagMonitor/RunLoop/Portable"],
        "LagOutput": ["Unsupported/LagOutput", "LagMonitor/Output/Portable"],
        "LagMonitor": ["Unsupported/LagMonitor", "LagMonitor/Portable", "LagMonitor/Settings"],
        "LagMonitorConcurrency": ["Unsupported/LagMonitorConcurrency", "Adapters/Concurrency/Portable"],
        "LagMonitorTestKit": ["Unsupported/LagMonitorTestKit", "Adapters/TestKit/Portable"],
        "LagMonitorNIO": ["Unsupported/LagMonitorNIO", "Adapters/NIO/Portable"],
        "LagMonitorFoundation": ["Unsupported/LagMonitorFoundation"],
        "LagMonitorDelivery": ["Unsupported/LagMonitorDelivery"], "LagMonitorConfiguration": ["Adapters/Configuration"],
        "LagMonitorOTLP": ["Unsupported/LagMonitorOTLP"], "LagMonitorMetrics": ["Adapters/Metrics"],
        "LagMonitorTracing": ["Adapters/Tracing"], "LagMonitorHummingbird": ["Adapters/Hummingbird"],
        "LagMonitorGRPC": ["Adapters/GRPC"],
        "LagMonitorLogging": ["Adapters/Logging"], "LagMonitorLifecycle": ["Adapters/Lifecycle"],
        "LagSymbols": ["Unsupported/LagSymbols"], "LagAdapterTests": ["Unsupported", "Suites/Adapters/Snippets/Snippets"],
    ]
    for target in package.targets {
        target.dependencies.removeAll { if case .byNameItem(let name, _) = $0 { sources[name] == nil } else { false } }
        target.path = target.isTest ? "Tests" : "Sources"
        target.exclude = target.name == "LagModel" ? ["LagMonitor/Model/Linux"] : []
        target.sources = sources[target.name]
    }
    // Tests want macOS 15, and are for `make platforms`.
    package.targets.removeAll { $0.sources == nil || $0.isTest && choice != "1" }
    package.products.removeAll { $0.name == "lagmonitor-preload" }
}

// MARK: Settings of all targets

for target in package.targets where target.type != .system {
    target.swiftSettings = [.enableUpcomingFeature("MemberImportVisibility"), .enableUpcomingFeature("ExistentialAny")]
    if choice == "1" { target.swiftSettings?.append(.define("LAGMONITOR_UNSUPPORTED")) }
    // But those of another system's compiler, which nobody has seen.
    if !isUnsupported || choice == "1" { target.swiftSettings?.append(.treatAllWarnings(as: .error)) }
    target.cSettings =
        (target.cSettings ?? []) + [
            .enableWarning("all"), .enableWarning("extra"), .disableWarning("unused-parameter"), .treatAllWarnings(as: .error),
        ]
}
