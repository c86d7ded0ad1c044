internal import CZlib

extension Gzip {
    /// Compresses bytes with gzip, in one piece; deterministic. Nil if out of memory.
    package static func compressed(_ bytes: [UInt8]) -> [UInt8]? {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        defer { stream.deallocate() }
        stream.initialize(to: z_stream())
        let size = Int32(MemoryLayout<z_stream>.size)
        let result = deflateInit2_(stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size)
        guard result == Z_OK else { return nil }
        defer { deflateEnd(stream) }
        var output = [UInt8](repeating: 0, count: Int(deflateBound(stream, UInt(bytes.count))))
        guard bytes.count <= Int(UInt32.max), output.count <= Int(UInt32.max) else { return nil }
        var input = bytes
        let isDone = input.withUnsafeMutableBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output in
                stream.pointee.next_in = input.baseAddress
                stream.pointee.avail_in = UInt32(input.count)
                stream.pointee.next_out = output.baseAddress
                stream.pointee.avail_out = UInt32(output.count)
                return deflate(stream, Z_FINISH) == Z_STREAM_END
            }
        }
        guard isDone else { return nil }
        output.removeLast(Int(stream.pointee.avail_out))
        return output
    }
}
