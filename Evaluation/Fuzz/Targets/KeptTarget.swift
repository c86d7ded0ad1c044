internal import Glibc
internal import LagModel
internal import LagMonitorDelivery
internal import LagOutput

/// Files that earlier processes left: spooled lines, and stalls that were in progress.
final class KeptTarget: FuzzTarget {
    static let name = "kept"
    private let spool: String
    private let unfinished: String

    /// A destination that is unavailable, or accepts everything.
    private final class Destination: RecordSink {
        let name = "tcp:fuzz:1"
        private let takes: Bool
        init(takes: Bool) { self.takes = takes }
        func write(_ line: UnsafeRawBufferPointer) throws(SinkError) { if !takes { throw SinkError(.readerGone, path: name) } }
        func close() {}
    }

    init(_ surroundings: FuzzSurroundings) {
        spool = surroundings.folder + "/spool"
        unfinished = surroundings.folder + "/unfinished"
    }

    /// A spool file as lagmond writes it, and the header of the other kind of file.
    var seeds: [[UInt8]] {
        get throws {
            let sink = try SpooledSink(Destination(takes: false), SpoolSettings(folder: spool))
            for line in FuzzLines.all { try Array((line + "\n").utf8).withUnsafeBytes { try sink.write($0) } }
            sink.close()
            let path = try file()
            guard let bytes = FuzzFile.read(path) else { throw FuzzError("no \(path)") }
            unlink(path)
            return [bytes, Array("LAGMONUF".utf8) + [1, 0, 0, 0] + [UInt8](repeating: 0, count: 8192)]
        }
    }

    private func file() throws -> String {
        guard let name = FuzzFile.names(in: spool).first else { throw FuzzError("no spool file") }
        return spool + "/" + name
    }

    func read(_ input: [UInt8]) throws {
        // The name is a hash of the destination's name.
        var hash = StableHash()
        hash.combine("tcp:fuzz:1")
        mkdir(spool, 0o700)
        try FuzzFile.write(input, to: "\(spool)/lagmonitor-\(hash.text).spool")
        let sink = try SpooledSink(Destination(takes: true), SpoolSettings(folder: spool))
        _ = sink.takeAbandonedLines()
        try Array("{}\n".utf8).withUnsafeBytes { try sink.write($0) }
        sink.close()
        try FuzzFile.write(input, to: unfinished)
        _ = RecoveredStalls(at: UnfinishedPath(unfinished), bootID: "00")
        unlink(unfinished)
    }
}
