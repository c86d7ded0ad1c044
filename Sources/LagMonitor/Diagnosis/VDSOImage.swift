internal import CLagLinux
internal import LagModel

/// The kernel's shared object in this process: code without a file.
enum VDSOImage {
    /// The image from its ELF header to the end of its section headers, which are its last part; nil if there is none. Mapped for
    /// the life of the process.
    static var bytes: UnsafeRawBufferPointer? {
        guard let start = cll_vdso_image() else { return nil }
        let header = LittleEndianBytes([UInt8](UnsafeRawBufferPointer(start: start, count: 64)))
        guard header.u32(0) == 0x464c_457f else { return nil }
        let end = header.u64(40) + UInt64(header.u16(58)) * UInt64(header.u16(60))
        // The kernel maps whole pages, and never more than a few.
        guard end <= 65_536 else { return nil }
        return UnsafeRawBufferPointer(start: start, count: Int(end))
    }
}
