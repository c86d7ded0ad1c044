internal import LagModel

/// Names of sockets from the kernel's tables (`/proc/net/tcp` and similar): `tcp 127.0.0.1:8080`, `tcp 192.0.2.7:443
/// (connecting)`, `udp 127.0.0.53:53`, `unix /run/app.sock`.
///
/// A connected socket is named by its peer. A socket without a peer is named by its own address, followed by `(listening)` or
/// `(local)`. Formats: `Documentation/networking/proc_net_tcp.rst` of the kernel, and proc(5).
///
/// Pure; any thread. Takes time in proportion to the text.
package enum NetworkNames {
    /// A table, by the name of its file.
    package enum Table: String, Sendable, CaseIterable {
        case tcp, tcp6, udp, udp6, unix

        fileprivate var transport: String {
            switch self {
            case .tcp, .tcp6: "tcp"
            case .udp, .udp6: "udp"
            case .unix: "unix"
            }
        }
    }

    /// Whether the column with the inode contains `inode`. Does not parse the line, because most lines are about other sockets.
    private static func isAbout(_ inode: UInt64, _ line: ArraySlice<UInt8>, column wanted: Int) -> Bool {
        var column = -1
        var isInColumn = false
        var number: UInt64 = 0
        for byte in line {
            if byte == UInt8(ascii: " ") {
                if isInColumn, column == wanted { break }
                isInColumn = false
                continue
            }
            if !isInColumn { column += 1 }
            isInColumn = true
            guard column == wanted else { continue }
            guard let longer = Decimal.append(byte, to: number) else { return false }
            number = longer
        }
        return column == wanted && number == inode
    }

    /// The name of the socket with `inode`, if `line` is about it; nil for any other line, and for a damaged one.
    package static func socket(inode: UInt64, in table: Table, line: ArraySlice<UInt8>) -> String? {
        table == .unix ? unix(inode, line) : internet(inode, table, line)
    }

    /// Columns: number, own address, peer address, state, queues, timer, retransmissions, user, time-out, inode.
    private static func internet(_ inode: UInt64, _ table: Table, _ line: ArraySlice<UInt8>) -> String? {
        guard isAbout(inode, line, column: 9) else { return nil }
        let columns = line.split(separator: UInt8(ascii: " "), maxSplits: 4)
        guard let own = address(columns[1]), let other = address(columns[2]), let state = number(columns[3]) else {
            return nil
        }
        let address = other.isUnspecified ? own : other
        let name = address.text(transport: table.transport)
        // A datagram socket uses TCP's states: connected or not.
        guard table == .tcp || table == .tcp6 else { return other.isUnspecified ? "\(name) (local)" : name }
        guard state != TCPState.established else { return name }
        return "\(name) (\(TCPState.names[state] ?? (other.isUnspecified ? "local" : "state \(state)")))"
    }

    /// Columns: address in the kernel, references, protocol, flags, type, state, inode, path.
    private static func unix(_ inode: UInt64, _ line: ArraySlice<UInt8>) -> String? {
        guard isAbout(inode, line, column: 6) else { return nil }
        // The path is the rest of the line: it may contain spaces, and begin with one.
        var rest = line
        for _ in 0..<7 {
            rest = rest.drop { $0 == UInt8(ascii: " ") }
            rest = rest.drop { $0 != UInt8(ascii: " ") }
        }
        return SocketAddress(unixPath: rest.dropFirst()).text(transport: nil)
    }

    /// `0100007F:1F90`: 32-bit words as the processor reads them (little-endian here), and the port.
    private static func address(_ column: ArraySlice<UInt8>) -> SocketAddress? {
        let parts = column.split(separator: UInt8(ascii: ":"))
        guard parts.count == 2, let port = number(parts[1]).flatMap({ UInt16(exactly: $0) }) else { return nil }
        let digits = parts[0]
        guard digits.count == 8 || digits.count == 32 else { return nil }
        var ip: [UInt8] = []
        for start in stride(from: digits.startIndex, to: digits.endIndex, by: 8) {
            guard let word = number(digits[start..<start + 8]) else { return nil }
            for shift in stride(from: 0, to: 32, by: 8) { ip.append(UInt8(truncatingIfNeeded: word >> UInt64(shift))) }
        }
        return SocketAddress(ip: ip[...], port: port)
    }

    /// Hexadecimal digits; nil for anything else, and for more than fit.
    private static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
        guard !digits.isEmpty, digits.count <= 16 else { return nil }
        var number: UInt64 = 0
        for byte in digits {
            guard let value = Hexadecimal.value(byte) else { return nil }
            number = number << 4 | UInt64(value)
        }
        return number
    }

    /// `include/net/tcp_states.h`, in human-readable words.
    private enum TCPState {
        static let established: UInt64 = 1
        static let names: [UInt64: String] = [
            2: "connecting", 3: "accepting", 4: "closing", 5: "closing", 6: "closed", 8: "closed by the other side",
            9: "closing", 10: "listening", 11: "closing", 12: "accepting",
        ]
    }
}
