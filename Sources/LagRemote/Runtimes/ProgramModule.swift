internal import CLagLinux
internal import Glibc
internal import LagCapture

/// Finds the module that is a process's program: the one whose thread-local storage is next to the thread pointer.
///
/// It is the first in the dynamic linker's list of modules, even if the linker itself was started (`ld.so prog`), or if the
/// program is mapped above its libraries. Without that list (a static program) it is where the kernel found the program's
/// headers. The process's own data is a claim: two reads give an existing module, or none.
///
/// Formats: `struct r_debug` and `struct link_map` of glibc's `<link.h>`; `/proc/PID/auxv`, proc(5), with `AT_PHDR` of `<elf.h>`.
enum ProgramModule {
    private enum Offset {
        static let firstModule: UInt64 = 8  // r_debug.r_map
        static let dynamicSection: UInt64 = 16  // link_map.l_ld
    }

    private static let debug = "_r_debug"
    private static let linkerPrefixes = ["ld-linux", "ld-2.", "ld64.", "ld.so"]
    private static let maximumVectorBytes = 4096

    /// Its index into the map; nil: not known. Some reads; owner thread of the map.
    static func index(_ map: ModuleMap, _ modules: [ProcessImage.Module], _ memory: RemoteMemory) -> Int? {
        for module in modules where linkerPrefixes.contains(where: module.name.hasPrefix) {
            if let debug = module.symbols?.symbol(debug)?.address, let program = first(of: debug, memory) {
                if let index = map.index(of: program) { return index }
            }
        }
        return headers(of: map.process).flatMap(map.index(of:))
    }

    /// An address in the first module of the linker's list.
    private static func first(of debug: UInt64, _ memory: RemoteMemory) -> UInt64? {
        guard let module: UInt64 = memory.load(debug &+ Offset.firstModule), module != 0,
            let section: UInt64 = memory.load(module &+ Offset.dynamicSection), section != 0
        else { return nil }
        return section
    }

    /// Where the kernel found the headers of what it started.
    private static func headers(of process: Int32) -> UInt64? {
        let descriptor = open("/proc/\(process)/auxv", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let words = [UInt64](unsafeUninitializedCapacity: maximumVectorBytes / 8) { buffer, count in
            count = max(0, read(descriptor, buffer.baseAddress, maximumVectorBytes)) / 8
        }
        for entry in stride(from: 0, to: words.count - 1, by: 2) where words[entry] == UInt64(AT_PHDR) { return words[entry + 1] }
        return nil
    }
}
