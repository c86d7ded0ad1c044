// swift-tools-version: 6.2
import PackageDescription

// Every layer is a target, so that a lower layer cannot name a higher one. The core depends only on the toolchain and libunwind.

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

/// A separate program that stalls, hangs or crashes, so that this is a test result and does not end the test run.
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

/// A package's product that is used only with a trait. Without the trait, the package is not even resolved.
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
// Adapters that need only the toolchain are products.
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
/// Compiles C so that unwinding is as hard as possible.
let withoutFramePointer: CSetting = .unsafeFlags(["-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls"])
let withoutRuntime: LinkerSetting = .unsafeFlags(["-enable-experimental-feature", "Embedded", "-no-stdlib-rpath"])

// MARK: The package

let package = Package(
    name: "LagMonitor",
    // The oldest versions that have `Duration`. The library does nothing on these platforms.
    platforms: [.macOS(.v13), .iOS(.v16), .tvOS(.v16), .watchOS(.v9)],
    // lagmond is not listed, but an executable target of a root package is a product automatically: `swift build --product
    // lagmond` works here, and users of the library do not resolve the packages that only lagmond needs.
    products: [
        // Adapters to packages are modules of this product. Each is empty unless its trait is enabled.
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
        .trait(name: "Logging", description: "LagMonitorLogging: logs stalls through swift-log."),
        .trait(name: "Metrics", description: "LagMonitorMetrics: publishes stalls through swift-metrics."),
        .trait(name: "ServiceLifecycle", description: "LagMonitorLifecycle: a service of swift-service-lifecycle."),
        .trait(name: "Configuration", description: "LagMonitorConfiguration: settings from swift-configuration."),
        .trait(name: "Tracing", description: "LagMonitorTracing: reads the traces of swift-distributed-tracing."),
        .trait(name: "NIO", description: "LagMonitorNIO: watches SwiftNIO's event loops, and names the message."),
        .trait(name: "Hummingbird", description: "LagMonitorHummingbird: names the request of a Hummingbird server."),
        .trait(name: "GRPC", description: "LagMonitorGRPC: names the call of a grpc-swift-2 server."),
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
        // OpenTelemetry: libcurl, which is loaded when it is needed, and contexts for external readers.
        .target(name: "CLagOTLP", dependencies: cEdge, linkerSettings: [.linkedLibrary("dl")]),
        .target(name: "CLibunwind", dependencies: ["CLagLinux"], linkerSettings: [.linkedLibrary("dl")]),
        .systemLibrary(name: "CZlib", path: "Sources/CZlib", providers: [.apt(["zlib1g-dev"])]),

        // The core
        layer("LagModel", "Model"),
        layer("LagActivity", "Activity"),
        layer("LagRunLoop", "RunLoop", ["LagModel", "LagActivity"]),
        layer("LagCapture", "Capture", ["LagModel", "LagActivity", "CLibunwind"]),
        layer("LagDetection", "Detection", ["LagModel", "LagActivity", "LagCapture", "CLibunwind"]),
        layer("LagDiagnosis", "Diagnosis", ["CLibunwind", "LagModel"]),
        layer("LagOutput", "Output", ["LagModel", "LagActivity"]),
        .target(
            name: "LagMonitor",
            dependencies: core,
            exclude: ["Model", "Activity", "RunLoop", "Capture", "Detection", "Diagnosis", "Output"]
        ),

        // Adapters: the core does not import them.
        adapter("Foundation", cEdge + ["LagActivity"]),
        adapter("Concurrency", monitor),
        // Formats other than JSON lines; sockets, the journal, the spool.
        adapter("Delivery", cEdge + ["LagActivity", "LagOutput"]),
        adapter("OTLP", ["CLagOTLP", "LagModel", "LagActivity", "LagOutput", "LagMonitorDelivery"]),
        adapter("TestKit", cEdge + ["LagMonitor", "LagActivity", "LagCapture", "LagDetection", "LagOutput"]),
        adapter("Logging", ["LagMonitor", logging]),
        adapter("Metrics", cEdge + ["LagMonitor", product("CoreMetrics", of: "swift-metrics", with: "Metrics")]),
        adapter("Lifecycle", ["LagMonitor", "LagMonitorConcurrency", "LagMonitorNIO"] + service + nio),
        adapter("Configuration", ["LagMonitor", configuration]),
        adapter("NIO", cEdge + ["LagMonitor"] + nio),
        adapter("Tracing", ["LagMonitor", tracing]),
        adapter("Hummingbird", ["LagMonitor", "LagMonitorTracing", hummingbird, httpTypes]),
        adapter("GRPC", ["LagMonitor", "LagMonitorTracing", grpc]),

        // lagmond. LagSymbols: files and lines from a long-running llvm-symbolizer.
        .target(name: "LagSymbols", dependencies: cEdge + ["CLagRemote", "LagModel", "LagDiagnosis"]),
        .target(name: "LagRemote", dependencies: monitor + ["CLagRemote"]),
        .target(name: "LagReader", dependencies: ["CZlib", "LagModel"]),
        // Linked like Embedded Swift, without the Swift runtime. Linked by lld, because gold also imports what the dropped parts
        // of CLagBeacon need, and other C libraries lack some of these symbols.
        .target(
            name: "LagPreload",
            dependencies: ["CLagBeacon"],
            linkerSettings: [.linkedLibrary("dl"), withoutRuntime, .unsafeFlags(["-use-ld=lld"])]
        ),
        // Stalls a main thread on purpose: the workload of lagmond and of the accuracy program.
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
            // Embedded in the program, so that lagmond is a single file.
            resources: ["core", "tables", "flame", "tree", "link", "heat", "timeline", "detail", "report"]
                .map { .embedInCode("ReportPage/Page/\($0).js") } + [.embedInCode("ReportPage/Page/report.css")]
        ),

        // Programs that measure the product and are not part of it
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
        support("CountingMalloc"),  // Replaces malloc: only for AllocationProbe.
        probe("MonitorProbe", remote + ["LagMonitorConcurrency", "LagMonitorOTLP", "LagSymbols", "StallFixtures"]),
        probe("AllocationProbe", cEdge + ["LagMonitor", "LagCapture", "LagDiagnosis", "CountingMalloc"]),
        // Two programs, because each runs the main queue in its own way: MainActorProbe's main is asynchronous.
        probe("FoundationProbe", ["LagModel", "LagMonitor", "LagMonitorConcurrency", "LagMonitorFoundation"]),
        probe("MainActorProbe", []),
        // In C, without the Swift runtime, like the programs for which the preloaded library is made.
        .executableTarget(
            name: "ForeignProbe",
            path: "Tests/Probes/ForeignProbe",
            cSettings: [withoutFramePointer],
            // So that external readers find OpenTelemetry's variable.
            linkerSettings: [withoutRuntime, .unsafeFlags(["-Xlinker", "--export-dynamic-symbol=otel_thread_ctx_v1"])]
        ),

        // One suite per layer, in folders by topic.
        suite("LagRunLoopTests", "RunLoop", cEdge + ["LagRunLoop", "LagActivity", "MonitorProbe"]),
        suite("LagCaptureTests", "Capture", cEdge + ["CLibunwind", "LagCapture", "MonitorProbe"]),
        suite("LagDetectionTests", "Detection", cEdge + ["LagDetection", "LagActivity", "LagCapture", "StallFixtures"]),
        suite("LagDiagnosisTests", "Diagnosis", ["LagDiagnosis", "LagSymbols", "StallFixtures"]),
        // `make test` runs one test of it last: it checks every line that the programs wrote against the schema.
        suite(
            "LagOutputTests",
            "Output",
            monitor + ["LagReader", "LagMonitorDelivery", "LagMonitorOTLP", "MonitorProbe", "lagmond", "lagfuzz"]
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

// Stalls are detected only on Linux with glibc. Elsewhere, the same modules have the same public API and do nothing: they consist
// of Sources/Unsupported and the portable files, and nothing else is built. The build system's platform decides, or 1 or 0 in the
// environment variable LAGMONITOR_UNSUPPORTED. (SwiftPM's platform conditions apply to targets, never to their files.)
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
    // Tests need macOS 15. Only `make platforms` builds them.
    package.targets.removeAll { $0.sources == nil || $0.isTest && choice != "1" }
    package.products.removeAll { $0.name == "lagmonitor-preload" }
}

// MARK: Settings of all targets

// Not in a dependency, where SwiftPM removes only a part of this, so the build fails; nor by other systems' unknown compilers.
let isDependency = ["/checkouts/", "/registry/downloads/"].contains { Context.packageDirectory.contains($0) }
for target in package.targets where target.type != .system {
    target.swiftSettings = [.enableUpcomingFeature("MemberImportVisibility"), .enableUpcomingFeature("ExistentialAny")]
    if choice == "1" { target.swiftSettings?.append(.define("LAGMONITOR_UNSUPPORTED")) }
    target.cSettings =
        (target.cSettings ?? []) + [.enableWarning("all"), .enableWarning("extra"), .disableWarning("unused-parameter")]
    if isDependency || isUnsupported && choice != "1" { continue }
    target.swiftSettings?.append(.treatAllWarnings(as: .error))
    target.cSettings?.append(.treatAllWarnings(as: .error))
}
