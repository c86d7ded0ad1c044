internal import Glibc

/// Where the HTTP service listens: `http.listen`.
///
/// A port without an address means 127.0.0.1: the data stays on the host unless the user names another address.
struct ListenAddress: Equatable, CustomStringConvertible {
    enum Host: Equatable {
        case ip4(String)
        case ip6(String)
    }

    let host: Host
    /// 0: any free port.
    let port: UInt16

    static let allowed = "a port, or an address and a port: 9464, 127.0.0.1:9464, [::1]:9464, 0.0.0.0:9464 for every network"

    /// nil when `text` is not an address.
    init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard let last = parts.last, !last.isEmpty, last.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(last)
        else { return nil }
        self.port = port
        if parts.count == 1 {
            host = .ip4(Self.loopback)
            return
        }
        let name = String(text.dropLast(last.count + 1))
        if name == "localhost" {
            host = .ip4(Self.loopback)
        } else if Self.isAddress(name, of: AF_INET) {
            host = .ip4(name)
        } else if name.hasPrefix("["), name.hasSuffix("]"), Self.isAddress(String(name.dropFirst().dropLast()), of: AF_INET6) {
            host = .ip6(String(name.dropFirst().dropLast()))
        } else {
            return nil
        }
    }

    init(host: Host, port: UInt16) {
        self.host = host
        self.port = port
    }

    private static let loopback = "127.0.0.1"

    private static func isAddress(_ text: String, of family: Int32) -> Bool {
        // The size of the longer address form.
        var bytes = [UInt8](repeating: 0, count: 16)
        return inet_pton(family, text, &bytes) == 1
    }

    static func validationError(for text: String) -> String? {
        Self(text) == nil ? "\"\(text)\" is not an address to listen on" : nil
    }

    var description: String {
        switch host {
        case .ip4(let address): "\(address):\(port)"
        case .ip6(let address): "[\(address)]:\(port)"
        }
    }
}
