internal import Glibc

/// A sequential source of bytes. One thread at a time.
package protocol ByteSource: AnyObject {
    /// Fills `buffer` from its start with the available bytes.
    /// - Returns: how many; 0 at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(InputError) -> Int
}

/// A regular file's bytes from an offset; several threads may read one file at the same time.
package final class RangeSource: ByteSource {
    private let file: InputFile
    private let progress: ReadProgress?
    private var opened: OpenFile?
    private var place: UInt64

    package init(file: InputFile, from place: UInt64, progress: ReadProgress? = nil) {
        self.file = file
        self.place = place
        self.progress = progress
    }

    package func read(into buffer: UnsafeMutableRawBufferPointer) throws(InputError) -> Int {
        let descriptor = try descriptor()
        while true {
            let count = pread(descriptor, buffer.baseAddress, buffer.count, off_t(clamping: place))
            if count >= 0 {
                place += UInt64(count)
                progress?.add(count)
                return count
            }
            guard errno == EINTR else { throw InputError(file.name, "cannot read", errno) }
        }
    }

    /// Opened at the first read.
    private func descriptor() throws(InputError) -> Int32 {
        if let opened { return opened.descriptor }
        let file = try file.opened()
        opened = file
        return file.descriptor
    }
}

/// A pipe's bytes.
package final class StreamSource: ByteSource {
    private let file: InputFile
    private let progress: ReadProgress?
    private var head: ArraySlice<UInt8>

    package init(file: InputFile, progress: ReadProgress? = nil) {
        self.file = file
        self.progress = progress
        head = file.head[...]
    }

    package func read(into buffer: UnsafeMutableRawBufferPointer) throws(InputError) -> Int {
        if !head.isEmpty {
            let count = min(head.count, buffer.count)
            buffer.copyBytes(from: head.prefix(count))
            head = head.dropFirst(count)
            progress?.add(count)
            return count
        }
        let descriptor = try file.opened().descriptor
        while true {
            let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            if count >= 0 {
                progress?.add(count)
                return count
            }
            // Another process may have made stdin non-blocking.
            if errno == EAGAIN {
                var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                _ = poll(&entry, 1, -1)
                continue
            }
            guard errno == EINTR else { throw InputError(file.name, "cannot read", errno) }
        }
    }
}
