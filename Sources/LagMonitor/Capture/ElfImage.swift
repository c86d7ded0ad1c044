internal import CLagLinux
internal import CLibunwind
internal import Glibc
internal import LagModel

/// The headers of an ELF image in a process's memory (System V ABI, chapter 5; ELF-64 object file format).
///
/// Every read uses the call that cannot fault: a library may be unloaded while it is read.
enum ElfImage {
    private static let maximumProgramHeaders = 64
    private static let maximumNotes: UInt64 = 4096

    /// Fills in what unwinding and naming need. Allocates nothing.
    /// - Returns: false if there is no ELF image at `start`.
    static func read(at start: UInt64, of process: Int32, into module: UnsafeMutablePointer<clu_module>) -> Bool {
        var header = Elf64_Ehdr()
        guard load(process, start, &header), header.e_ident.0 == 0x7f, header.e_ident.1 == 0x45, header.e_ident.2 == 0x4c,
            header.e_ident.3 == 0x46, header.e_phentsize == UInt16(MemoryLayout<Elf64_Phdr>.size),
            Int(header.e_phnum) <= maximumProgramHeaders
        else { return false }
        var first: UInt64?
        var end: UInt64 = 0
        module.pointee = clu_module()
        var hdr: UInt64?
        var text: (start: UInt64, end: UInt64) = (.max, 0)
        var notes: (UInt64, UInt64)?
        for index in 0..<UInt64(header.e_phnum) {
            var segment = Elf64_Phdr()
            guard load(process, start &+ header.e_phoff &+ index &* 56, &segment) else { return false }
            switch Int32(bitPattern: segment.p_type) {
            case PT_LOAD:
                if first == nil { first = segment.p_vaddr & ~4095 }
                end = max(end, segment.p_vaddr &+ segment.p_memsz)
                if segment.p_flags & 1 != 0 {  // PF_X
                    text.start = min(text.start, segment.p_vaddr)
                    text.end = max(text.end, segment.p_vaddr &+ segment.p_memsz)
                }
            case PT_GNU_EH_FRAME: hdr = segment.p_vaddr
            case PT_NOTE:
                if module.pointee.build_id_length == 0 {
                    notes = (segment.p_vaddr, min(segment.p_memsz, maximumNotes))
                    // The bias is known with the first PT_LOAD; PT_NOTE may come before it, so it is read below.
                    if let first { readBuildID(process, start &- first &+ segment.p_vaddr, notes!.1, into: module) }
                }
            default: break
            }
        }
        guard let first, end > first else { return false }
        let bias = start &- first
        if module.pointee.build_id_length == 0, let notes { readBuildID(process, bias &+ notes.0, notes.1, into: module) }
        module.pointee.start = start
        module.pointee.end = bias &+ end
        module.pointee.bias = bias
        if let hdr { module.pointee.eh_frame_hdr = bias &+ hdr }
        if text.end > 0 {
            module.pointee.text_start = bias &+ text.start
            module.pointee.text_end = bias &+ text.end
        }
        return true
    }

    /// Whether the mapped image is still the one that was read: another file may be mapped in its place, or be written over it,
    /// with the same name and inode. Decided by the Build ID; without one, by ``stamp(at:of:)``. Allocates nothing.
    static func isStill(_ module: UnsafePointer<clu_module>, of process: Int32, stamp: UInt64) -> Bool {
        let length = Int(module.pointee.build_id_length)
        guard length > 0 else { return self.stamp(at: module.pointee.start, of: process) == stamp }
        var now = module.pointee.build_id
        return withUnsafeMutableBytes(of: &now) { now in
            // What cannot be read is about to be unmapped.
            guard cll_memory_read(process, module.pointee.build_id_place, now.baseAddress, length) == length else { return true }
            // A key path to the member would allocate.
            return withUnsafeBytes(of: module.pointee.build_id) { known in
                memcmp(now.baseAddress!, known.baseAddress!, length) == 0
            }
        }
    }

    /// A hash of the image's headers, which contain the sizes of its parts. Allocates nothing.
    static func stamp(at start: UInt64, of process: Int32) -> UInt64 {
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: stampWords) { words in
            words.initialize(repeating: 0)
            // The header's 64 bytes, with the number of program headers in its last words, followed by those headers, as linkers
            // lay it out.
            guard cll_memory_read(process, start, words.baseAddress, stampWords * 8) == stampWords * 8 else { return 0 }
            let count = min(stampWords, 8 + 7 * Int(words[7] & 0xffff))
            var hash = StableHash()
            for index in 0..<count { hash.combine(word: words[index]) }
            return hash.value
        }
    }

    /// For 17 program headers.
    private static let stampWords = 128

    private static func load<T>(_ process: Int32, _ address: UInt64, _ value: inout T) -> Bool {
        withUnsafeMutableBytes(of: &value) { cll_memory_read(process, address, $0.baseAddress, $0.count) == $0.count }
    }

    /// Finds the GNU build-id note: name "GNU\0", type NT_GNU_BUILD_ID (3).
    private static func readBuildID(
        _ process: Int32,
        _ address: UInt64,
        _ size: UInt64,
        into module: UnsafeMutablePointer<clu_module>
    ) {
        var offset: UInt64 = 0
        while offset &+ 12 <= size {
            var note = (name: UInt32(0), content: UInt32(0), type: UInt32(0))
            guard load(process, address &+ offset, &note) else { return }
            let content = address &+ offset &+ 12 &+ UInt64((note.name &+ 3) & ~3)
            var name: UInt32 = 0
            if note.type == 3, note.name == 4, load(process, address &+ offset &+ 12, &name), name == 0x0055_4e47 {
                let length = min(Int(note.content), Int(CLU_BUILD_ID_MAX))
                let read = withUnsafeMutableBytes(of: &module.pointee.build_id) {
                    cll_memory_read(process, content, $0.baseAddress, length)
                }
                guard read == length else { return }
                module.pointee.build_id_length = UInt32(length)
                module.pointee.build_id_place = content
                return
            }
            offset = content &- address &+ UInt64((note.content &+ 3) & ~3)
        }
    }
}
