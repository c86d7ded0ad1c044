/// Fixed-width fields at checked positions; 0 beyond the end.
package struct LittleEndianBytes {
    package let bytes: [UInt8]
    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    package var count: Int { bytes.count }
    @inlinable package func u8(_ offset: Int) -> UInt8 { load(offset) }
    @inlinable package func u16(_ offset: Int) -> UInt16 { load(offset) }
    @inlinable package func u32(_ offset: Int) -> UInt32 { load(offset) }
    @inlinable package func u64(_ offset: Int) -> UInt64 { load(offset) }

    @inlinable package func load<Number: FixedWidthInteger & BitwiseCopyable>(_ offset: Int) -> Number {
        guard offset >= 0, offset <= bytes.count - MemoryLayout<Number>.size else { return 0 }
        return bytes.withUnsafeBytes { Number(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: Number.self)) }
    }
}
