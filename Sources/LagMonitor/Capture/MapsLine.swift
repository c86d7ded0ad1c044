internal import CLibunwind
internal import Glibc

/// One line of `/proc/<pid>/maps` (proc(5)): `start-end perms offset dev inode path`.
struct MapsLine {
    private(set) var start: UInt64 = 0
    private(set) var end: UInt64 = 0
    private(set) var readable = false
    private(set) var executable = false
    private(set) var fileOffset: UInt64 = 0
    private(set) var inode: UInt64 = 0
    private let path: UnsafePointer<UInt8>
    private let pathLength: Int

    /// Reads the line at `at` and moves past it. Allocates nothing.
    init(text: UnsafePointer<UInt8>, from at: inout Int, limit: Int) {
        start = Self.number(text, &at, limit, base: 16)
        at += 1
        end = Self.number(text, &at, limit, base: 16)
        at += 1
        readable = at < limit && text[at] == UInt8(ascii: "r")
        executable = at + 2 < limit && text[at + 2] == UInt8(ascii: "x")
        at += 5
        fileOffset = Self.number(text, &at, limit, base: 16)
        at += 1
        while at < limit, text[at] != UInt8(ascii: " ") { at += 1 }
        at += 1
        inode = Self.number(text, &at, limit, base: 10)
        while at < limit, text[at] == UInt8(ascii: " ") { at += 1 }
        let begin = min(at, limit)
        while at < limit, text[at] != UInt8(ascii: "\n") { at += 1 }
        path = text + begin
        pathLength = min(at, limit) - begin
        at += 1
    }

    /// The kernel's own small library, which has no file.
    var isVDSO: Bool { pathLength == 6 && path[1] == UInt8(ascii: "v") && path[2] == UInt8(ascii: "d") }

    /// Where the process publishes its context (OTEP 4719). Not an array: iterating over one allocates.
    var isProcessContext: Bool {
        readable && !executable && (begins("[anon_shmem:OTEL_CTX]") || begins("[anon:OTEL_CTX]") || begins("/memfd:OTEL_CTX"))
    }

    private func begins(_ name: StaticString) -> Bool {
        pathLength >= name.utf8CodeUnitCount && memcmp(path, name.utf8Start, name.utf8CodeUnitCount) == 0
    }

    func hasPath(of module: UnsafePointer<clu_module>) -> Bool {
        Int(module.pointee.path_length) == pathLength && (pathLength == 0 || memcmp(module.pointee.path, path, pathLength) == 0)
    }

    /// Appends the path to `paths`, at `used`.
    /// - Returns: false if it does not fit.
    func copyPath(into module: UnsafeMutablePointer<clu_module>, _ paths: UnsafeMutableRawBufferPointer, used: inout Int) -> Bool
    {
        guard pathLength <= paths.count - used else { return false }
        let place = paths.baseAddress! + used
        memcpy(place, path, pathLength)
        used += pathLength
        module.pointee.path = UnsafePointer(place.assumingMemoryBound(to: UInt8.self))
        module.pointee.path_length = UInt32(pathLength)
        return true
    }

    static func pathBytes(_ module: UnsafePointer<clu_module>) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: module.pointee.path, count: Int(module.pointee.path_length))
    }

    private static func number(_ text: UnsafePointer<UInt8>, _ at: inout Int, _ limit: Int, base: UInt64) -> UInt64 {
        var value: UInt64 = 0
        while at < limit {
            let digit: UInt64
            switch text[at] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = UInt64(text[at] - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = UInt64(text[at] - UInt8(ascii: "a")) + 10
            default: return value
            }
            value = value &* base &+ digit
            at += 1
        }
        return value
    }
}
