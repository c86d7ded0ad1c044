internal import Foundation
import Glibc

/// A terminal of a given size that collects the text written to it.
final class Terminal {
    /// The side that programs write to.
    let slave: FileHandle
    private let master: Int32
    private var text = ""

    init(columns: UInt16 = 80, rows: UInt16 = 24) throws {
        // Swift's Glibc has no posix_openpt, and no macros with arguments: TIOCSPTLCK and TIOCGPTN (asm-generic/ioctls.h).
        master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var (number, lock): (UInt32, Int32) = (0, 0)
        guard master >= 0, ioctl(master, 0x4004_5431, &lock) == 0, ioctl(master, 0x8004_5430, &number) == 0 else {
            throw CocoaError(.fileNoSuchFile)
        }
        let descriptor = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard descriptor >= 0 else { throw CocoaError(.fileNoSuchFile) }
        slave = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        guard ioctl(descriptor, UInt(TIOCSWINSZ), &size) == 0 else { throw CocoaError(.fileNoSuchFile) }
        _ = fcntl(master, F_SETFL, O_NONBLOCK)
    }

    deinit { close(master) }

    /// All text so far, with the terminal's line endings.
    func read() -> String {
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = Glibc.read(master, &buffer, buffer.count)
            guard count > 0 else { return text }
            text += String(decoding: buffer.prefix(count), as: UTF8.self)
        }
    }
}
