internal import CLibunwind
internal import Glibc

extension ModuleMap {
    /// Libraries in which programs wait, by the beginning of their file names: C's, C++'s, the loader, and what ``lagmond`` loads
    /// into programs.
    private static let systems: [StaticString] = [
        "libc.so", "libc-2", "libc.musl", "ld-musl", "ld-linux", "libpthread", "[vdso]", "libstdc++.so", "libc++.so",
        "liblagmonitor-preload",
    ]

    /// Whether a module is one of these. Allocates nothing.
    package func isSystems(_ index: Int) -> Bool {
        guard index >= 0, index < Self.capacity, modules[index].start != 0 else { return false }
        let path = MapsLine.pathBytes(modules + index)
        let begin = path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
        return Self.systems.contains { name in
            path.count - begin >= name.utf8CodeUnitCount
                && memcmp(path.baseAddress! + begin, name.utf8Start, name.utf8CodeUnitCount) == 0
        }
    }
}
