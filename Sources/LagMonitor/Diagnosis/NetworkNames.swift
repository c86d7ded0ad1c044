/// What the kernel's tables of sockets (`/proc/net/tcp` and its like) say of a socket: `tcp 127.0.0.1:8080`,
/// `tcp 192.0.2.7:443 (connecting)`, `udp 127.0.0.53:53`, `unix /run/app.sock`.
///
/// A connected socket is named by where it leads. One that leads nowhere is named by its own address, with `(listening)` or
/// `(local)` behind it. Formats: `Documentation/networking/proc_net_tcp.rst` of the kernel, and proc(5).
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

    /// The name of the socket with `inode` in one table; nil when it is not there.
    package static func socket(inode: UInt64, in table: Table, text: some Collection<UInt8>) -> String? {
        for line in text.split(separator: UInt8(ascii: "\n")) {
            if let name = socket(inode: inode, in: table, line: line) { return name }
        }
        return nil
    }

    /// The name of the socket with `inode`, if `line` is the one about it; nil for any other line, and for a damaged one.
    package static func socket(inode: UInt64, in table: Table, line: some Collection<UInt8>) -> String? {
        table == .unix ? unix(inode, line) : internet(inode, table, line)
    }

    /// Columns: number, own address, the other's, state, queues, timer, retransmissions, user, time-out, inode.
    private static func internet(_ inode: UInt64, _ table: Table, _ line: some Collection<UInt8>) -> String? {
        let columns = line.split(separator: UInt8(ascii: " "), maxSplits: 10)
        guard columns.count >= 10, number(columns[9]) == inode else { return nil }
        guard let own = address(columns[1]), let other = address(columns[2]), let state = number(columns[3], radix: 16) else {
            return nil
        }
        let address = other.isUnspecified ? own : other
        let name = address.text(transport: table.transport)
        // A datagram socket's states are borrowed from TCP: connected or not.
        guard table == .tcp || table == .tcp6 else { return other.isUnspecified ? "\(name) (local)" : name }
        guard state != TCPState.established else { return name }
        return "\(name) (\(TCPState.names[state] ?? (other.isUnspecified ? "local" : "state \(state)")))"
    }

    /// Columns: address in the kernel, references, protocol, flags, type, state, inode, path.
    private static func unix(_ inode: UInt64, _ line: some Collection<UInt8>) -> String? {
        // The path is the rest of the line: it may hold spaces, and begin with one.
        var rest = Array(line)[...]
        var column = rest[..<rest.startIndex]
        for _ in 0..<7 {
            rest = rest.drop { $0 == UInt8(ascii: " ") }
            column = rest.prefix { $0 != UInt8(ascii: " ") }
            rest = rest[column.endIndex...]
        }
        guard number(column) == inode else { return nil }
        return SocketAddress(unixPath: rest.dropFirst()).text(transport: nil)
    }

    /// `0100007F:1F90`: 32-bit words as the processor reads them (little-endian here), and the port.
    private static func address(_ column: some Collection<UInt8>) -> SocketAddress? {
        let parts = column.split(separator: UInt8(ascii: ":"))
        guard parts.count == 2, let port = number(parts[1], radix: 16).flatMap({ UInt16(exactly: $0) }) else { return nil }
        let digits = Array(parts[0])
        guard digits.count == 8 || digits.count == 32 else { return nil }
        var ip: [UInt8] = []
        for start in stride(from: 0, to: digits.count, by: 8) {
            guard let word = number(digits[start..<start + 8], radix: 16) else { return nil }
            for shift in stride(from: 0, to: 32, by: 8) { ip.append(UInt8(truncatingIfNeeded: word >> UInt64(shift))) }
        }
        return SocketAddress(ip: ip, port: port)
    }

    private static func number(_ digits: some Collection<UInt8>, radix: UInt64 = 10) -> UInt64? {
        guard !digits.isEmpty else { return nil }
        var number: UInt64 = 0
        for byte in digits {
            let digit: UInt64
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = UInt64(byte - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = UInt64(byte - UInt8(ascii: "a")) + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = UInt64(byte - UInt8(ascii: "A")) + 10
            default: return nil
            }
            guard digit < radix else { return nil }
            let (product, overflow) = number.multipliedReportingOverflow(by: radix)
            let (sum, carry) = product.addingReportingOverflow(digit)
            guard !overflow, !carry else { return nil }
            number = sum
        }
        return number
    }

    /// `include/net/tcp_states.h`, in the words of people.
    private enum TCPState {
        static let established: UInt64 = 1
        static let names: [UInt64: String] = [
            2: "connecting", 3: "accepting", 4: "closing", 5: "closing", 6: "closed", 8: "closed by the other side",
            9: "closing", 10: "listening", 11: "closing", 12: "accepting",
        ]
    }
}
