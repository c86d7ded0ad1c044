/// One printed result: `bench NAME VALUE UNIT [p50=] [p99=] [peer=NAME peer_value=V ratio=R] [KEY=…]`.
struct BenchLine: Sendable {
    struct Peer: Sendable {
        let name: String
        let value: Double
    }

    let name: String
    let value: Double
    let unit: String
    var p50: Double?
    var p99: Double?
    var peer: Peer?
    /// Further facts that are needed to judge the number: the number of samples, what was left out.
    var notes: [(key: String, value: String)] = []

    init(_ name: String, _ value: Double, _ unit: String) {
        self.name = name
        self.value = value
        self.unit = unit
    }

    /// The peer's value divided by the monitor's: how many times as much the peer costs. Infinite if the monitor's value is 0.
    var ratio: Double? {
        guard let peer else { return nil }
        return value == 0 ? (peer.value == 0 ? 1 : .infinity) : peer.value / value
    }

    func comparing(with peer: String, _ peerValue: Double) -> BenchLine {
        var line = self
        line.peer = Peer(name: peer, value: peerValue)
        return line
    }

    func annotating(_ key: String, _ value: some CustomStringConvertible) -> BenchLine {
        var line = self
        line.notes.append((key, value.description))
        return line
    }

    var text: String {
        var fields = ["bench \(name) \(Self.format(value)) \(unit)"]
        if let p50 { fields.append("p50=\(Self.format(p50))") }
        if let p99 { fields.append("p99=\(Self.format(p99))") }
        if let peer, let ratio {
            fields.append("peer=\(peer.name) peer_value=\(Self.format(peer.value)) ratio=\(Self.format(ratio))")
        }
        for note in notes { fields.append("\(note.key)=\(note.value)") }
        return fields.joined(separator: " ")
    }

    /// As many decimals as are significant; none for a whole number.
    static func format(_ number: Double) -> String {
        guard number.isFinite else { return "\(number)" }
        let scale: Double =
            switch number.magnitude {
            case ..<1: 1000
            case ..<10: 100
            case ..<100: 10
            default: 1
            }
        let rounded = (number * scale).rounded() / scale
        return rounded == rounded.rounded() ? "\(Int(rounded))" : "\(rounded)"
    }
}
