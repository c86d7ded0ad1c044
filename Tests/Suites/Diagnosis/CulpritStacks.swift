import LagDiagnosis

/// Tests with stacks from texts.
protocol CulpritStacks {}

extension CulpritStacks {
    /// Frames from a text, leaf first: a plain name is the program's own, one in brackets is not, `?` has no symbol.
    func stack(_ weight: UInt64, _ names: String, isComplete: Bool = true) -> CulpritStack {
        let frames = names.split(separator: " ").enumerated().map { index, name in
            let isLibrary = name.hasPrefix("[")
            let symbol = name.hasPrefix("?") ? nil : name.filter { !"[]".contains($0) }.replacing("~", with: " ")
            return CulpritFrame(
                symbol: symbol,
                place: name == "?" ? "aa+\(index)" : "aa+\(name)",
                inApp: !isLibrary,
                isOfLanguage: symbol?.hasSuffix(")") == true
            )
        }
        return CulpritStack(weightNanoseconds: weight, frames: frames, isComplete: isComplete)
    }

    func blamed(_ stacks: [CulpritStack]) -> String? {
        Culprit(stacks: stacks).flatMap { culprit in
            culprit.frameIndex.map { stacks[culprit.representative].frames[$0].function }
        }
    }

    func isClose(_ left: Double?, _ right: Double) -> Bool { left.map { abs($0 - right) < 1e-9 } ?? false }
}
