internal import Foundation

/// A folder of this process on a disk: /var/tmp must survive a reboot, so it is rarely in memory.
enum ScratchFolder {
    /// Created at the first use, which is before the stall.
    static let path: String = {
        var template = Array("/var/tmp/servicestalls-XXXXXX".utf8CString)
        let path = template.withUnsafeMutableBufferPointer { mkdtemp($0.baseAddress!).map { String(cString: $0) } }
        guard let path else { preconditionFailure("no folder in /var/tmp: \(String(cString: strerror(errno)))") }
        return path
    }()

    static func remove() { try? FileManager.default.removeItem(atPath: path) }
}
