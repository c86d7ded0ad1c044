/// Lines, in any format, except those of stalls in which the thread got no processor: a busy machine causes them in any program.
public func withoutRunqueue<Line: StringProtocol>(_ lines: [Line]) -> [Line] {
    lines.filter { !$0.contains(#""runqueue""#) }
}
