internal import LagMonitor
internal import LagOutput
internal import Synchronization

/// The default file, created with its first line, so that a command that never stalls leaves no file.
final class LazyFileSink: RecordSink {
    let name: String
    private let rotation: FileRotation?
    private let permissions: FilePermissions
    private let sink = Mutex<FileSink?>(nil)

    init(path: String, rotation: FileRotation? = nil, permissions: FilePermissions = .owner) {
        (name, self.rotation, self.permissions) = (path, rotation, permissions)
    }

    func write(_ line: UnsafeRawBufferPointer) throws(SinkError) {
        try sink.withLock { sink throws(SinkError) in
            if let sink { return try sink.write(line) }
            let made = try FileSink(path: name, .byDefault, rotation: rotation, permissions: permissions)
            sink = made
            try made.write(line)
        }
    }

    func reopen() throws(SinkError) {
        try sink.withLock { sink throws(SinkError) in try sink?.reopen() }
    }

    func close() { sink.withLock { $0?.close() } }

    func takeAbandonedLines() -> UInt64 { sink.withLock { $0?.takeAbandonedLines() ?? 0 } }
}
