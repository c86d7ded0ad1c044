// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [.treatAllWarnings(as: .error), .enableUpcomingFeature("MemberImportVisibility")]
/// C as distributions build it: optimised, with debug information, without frame pointers.
let asReleased = ["-O2", "-g", "-fomit-frame-pointer"]

// Stalls in libraries that real programs use. A package of its own: what they need is no business of the monitor's.
let package = Package(
    name: "EvaluationLibraries",
    dependencies: [
        .package(name: "LagMonitor", path: "../..")
    ],
    targets: [
        .target(
            name: "CLibraryStalls",
            cSettings: [
                .unsafeFlags(asReleased + ["-I/usr/include/libxml2"]), .define("_GNU_SOURCE"),
                .define("_FILE_OFFSET_BITS", to: "64"),
            ],
            cxxSettings: [.unsafeFlags(asReleased)],
            linkerSettings: [
                "pq", "sqlite3", "z", "bz2", "lzma", "zstd", "ssl", "crypto", "crypt", "xml2", "curl", "fuse3", "uring", "lua5.3",
                "stdc++",
            ].map { .linkedLibrary($0) }
        ),
        .executableTarget(
            name: "librarystalls",
            dependencies: [
                "CLibraryStalls", .product(name: "LagMonitor", package: "LagMonitor"),
            ],
            swiftSettings: strict
        ),
    ]
)
