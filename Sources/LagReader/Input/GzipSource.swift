internal import CZlib

/// Constants of gzip (RFC 1952).
package enum Gzip {
    static let magic: [UInt8] = [0x1f, 0x8b]
}

/// Decompresses gzip, one member after the other, so that files work that were compressed in parts and joined.
///
/// Truncated or damaged data give the bytes before the damage, then the error. Zeros after the last member are padding
/// (tapes, some archivers); anything else there is an error. Memory: 64 KiB and zlib's window of 32 KiB.
package final class GzipSource: ByteSource {
    private static let inputBytes = 64 << 10
    /// gzip's header, and the largest window (zlib.h, `inflateInit2`).
    private static let windowBitsForGzip: Int32 = 15 + 16

    private enum State {
        case inMember, betweenMembers, ended
        case failed(InputError)
    }

    private let upstream: any ByteSource
    private let name: String
    private let input = UnsafeMutableRawBufferPointer.allocate(byteCount: inputBytes, alignment: 16)
    /// Needs a stable address: zlib's state points back at it, and rejects another one.
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private var state = State.betweenMembers
    private var members = 0

    package init(_ upstream: any ByteSource, name: String) {
        self.upstream = upstream
        self.name = name
        stream.initialize(to: z_stream())
        let result = inflateInit2_(stream, Self.windowBitsForGzip, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        if result != Z_OK { state = .failed(InputError(damaged: name, "zlib cannot be used (\(result))")) }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
        input.deallocate()
    }

    package func read(into buffer: UnsafeMutableRawBufferPointer) throws(InputError) -> Int {
        stream.pointee.next_out = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_out = UInt32(clamping: buffer.count)
        let room = Int(stream.pointee.avail_out)
        while stream.pointee.avail_out > 0 {
            do throws(InputError) {
                guard try step() else { break }
            } catch {
                state = .failed(error)
                break
            }
        }
        let count = room - Int(stream.pointee.avail_out)
        // First the decompressed bytes; the error with the next call.
        if count == 0, case .failed(let inputError) = state {
            state = .ended
            throw inputError
        }
        return count
    }

    /// One call of zlib. False at the end.
    private func step() throws(InputError) -> Bool {
        switch state {
        case .ended, .failed: return false
        case .betweenMembers: return try beginMember()
        case .inMember: return try inflateSome()
        }
    }

    private func inflateSome() throws(InputError) -> Bool {
        if stream.pointee.avail_in == 0, try !refill() {
            throw InputError(damaged: name, "the gzip data are truncated; the data before the end was read")
        }
        switch inflate(stream, Z_NO_FLUSH) {
        case Z_OK, Z_BUF_ERROR: return true
        case Z_STREAM_END:
            state = .betweenMembers
            members += 1
            return true
        default:
            let why = stream.pointee.msg.map { String(cString: $0) } ?? "not gzip"
            throw InputError(damaged: name, "the gzip data are damaged (\(why)); the rest was not read")
        }
    }

    private func beginMember() throws(InputError) -> Bool {
        if members > 0 { try skipPadding() }
        if stream.pointee.avail_in == 0, try !refill() {
            state = .ended
            return false
        }
        if members > 0 {
            guard stream.pointee.next_in.pointee == Gzip.magic[0] else {
                throw InputError(damaged: name, "trailing data that is not gzip was not read")
            }
            inflateReset(stream)
        }
        state = .inMember
        return true
    }

    private func skipPadding() throws(InputError) {
        while true {
            if stream.pointee.avail_in == 0, try !refill() { return }
            guard stream.pointee.next_in.pointee == 0 else { return }
            stream.pointee.next_in += 1
            stream.pointee.avail_in -= 1
        }
    }

    private func refill() throws(InputError) -> Bool {
        let count = try upstream.read(into: input)
        stream.pointee.next_in = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_in = UInt32(count)
        return count > 0
    }
}
