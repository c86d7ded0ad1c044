// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [.treatAllWarnings(as: .error), .enableUpcomingFeature("MemberImportVisibility")]
/// C settings as in distributions: optimised, with debug information, without frame pointers.
let asReleased = ["-O2", "-g", "-fomit-frame-pointer"]
let includes = [
    "-I/usr/include/libxml2", "-I/usr/include/eigen3", "-I/usr/include/glib-2.0", "-I/usr/lib/x86_64-linux-gnu/glib-2.0/include",
    "-I/usr/lib/aarch64-linux-gnu/glib-2.0/include",
]

// Stalls in libraries that real programs use. A separate package, so that these libraries do not become dependencies of the
// monitor.
let package = Package(
    name: "EvaluationLibraries",
    dependencies: [
        .package(name: "LagMonitor", path: "../.."),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.6.3"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    ],
    targets: [
        .target(
            name: "CLibraryStalls",
            cSettings: [
                .unsafeFlags(asReleased + includes), .define("_GNU_SOURCE"),
                .define("_FILE_OFFSET_BITS", to: "64"),
            ],
            cxxSettings: [.unsafeFlags(asReleased + includes)],
            linkerSettings: [
                "pq", "sqlite3", "z", "bz2", "lzma", "zstd", "ssl", "crypto", "crypt", "xml2", "curl", "fuse3", "uring", "lua5.3",
                "stdc++", "brotlienc", "brotlidec", "archive", "png", "jpeg", "gmp", "gsl", "gslcblas", "fftw3", "sodium",
                "argon2",
                "nettle", "expat", "jansson", "pcre2-8", "glib-2.0", "xslt", "lmdb", "icui18n", "icuuc", "uv", "m",
            ].map { .linkedLibrary($0) }
        ),
        .executableTarget(
            name: "librarystalls",
            dependencies: [
                "CLibraryStalls", "Yams",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "LagMonitor", package: "LagMonitor"),
                .product(name: "LagSymbols", package: "LagMonitor"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: strict
        ),
    ]
)
