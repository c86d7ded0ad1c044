internal import Foundation
import Glibc

/// A terminal of a certain size, with what was written to it.
final class Terminal {
    /// What programs write to.
    let slave: FileHandle
    private let master: Int32
    private var text = ""

    init(columns: UInt16 = 80, rows: UInt16 = 24) throws {
        master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard master >= 0, grantpt(master) == 0, unlockpt(master) == 0, let name = ptsname(master) else {
            throw CocoaError(.fileNoSuchFile)
        }
        let descriptor = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard descriptor >= 0 else { throw CocoaError(.fileNoSuchFile) }
        slave = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        guard ioctl(descriptor, UInt(TIOCSWINSZ), &size) == 0 else { throw CocoaError(.fileNoSuchFile) }
        _ = fcntl(master, F_SETFL, O_NONBLOCK)
    }

    deinit { close(master) }

    /// Everything so far, with the terminal's line ends.
    func read() -> String {
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = Glibc.read(master, &buffer, buffer.count)
            guard count > 0 else { return text }
            text += String(decoding: buffer.prefix(count), as: UTF8.self)
        }
    }
}
