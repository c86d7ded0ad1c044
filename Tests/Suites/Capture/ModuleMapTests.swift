import CLibunwind
import Foundation
import Glibc
import Testing

@testable import LagCapture

struct ModuleMapTests {
    private struct Mapping {
        let range: Range<UInt64>
        let offset: Int
        let path: String

        init?(of address: UInt64) throws {
            for line in try String(contentsOfFile: "/proc/self/maps", encoding: .utf8).split(separator: "\n") {
                let fields = line.split(separator: " ", maxSplits: 5)
                let ends = fields[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
                guard ends.count == 2, (ends[0]..<ends[1]).contains(address), fields.count == 6 else { continue }
                range = ends[0]..<ends[1]
                offset = Int(fields[2], radix: 16) ?? 0
                path = fields[5].trimmingCharacters(in: .whitespaces)
                return
            }
            return nil
        }
    }

    /// As V8 maps its builtins a second time.
    @Test func `code of a module that is mapped once more leads to the module's`() throws {
        let function = UInt64(UInt(bitPattern: dlsym(UnsafeMutableRawPointer(bitPattern: 0), "qsort")))
        let own = try #require(try Mapping(of: function))
        let page = (function - own.range.lowerBound) / 4096 * 4096
        let file = open(own.path, O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        let map = try #require(ModuleMap())
        map.refresh()
        let module = try #require(map.index(of: function))
        #expect(map.copies(of: module).isEmpty)
        let memory = try #require(mmap(nil, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, off_t(own.offset) + off_t(page)))
        #expect(memory != MAP_FAILED)
        defer { munmap(memory, 4096) }
        let start = UInt64(UInt(bitPattern: memory))
        map.refresh()
        let copy = try #require(map.copies(of: module).first)
        #expect(copy.range == start..<start + 4096)
        var table = map.table
        #expect(clu_code_kind(&table, start) == CLU_CODE_OF_FILE && clu_code_kind(&table, start - 1) != CLU_CODE_OF_FILE)
        #expect(copy.original(of: start + 8) == own.range.lowerBound + page + 8)
        #expect(copy.original(of: start + 4096) == nil && copy.original(of: start - 1) == nil)
        for other in map.present where other.index != module { #expect(map.copies(of: other.index).isEmpty) }
    }
}
