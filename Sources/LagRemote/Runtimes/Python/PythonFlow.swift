/// Which instructions of a function can follow which, without exceptions.
///
/// The place of an instruction shows little: the compiler copies what follows a loop to where the loop is left.
struct PythonFlow {
    private struct Instruction {
        let begin: Int
        /// The unit that it jumps to.
        let target: Int?
        let continues: Bool
        let isHandled: Bool
    }

    private static let mostLoops = 32
    /// The instructions that are visited for one answer, in all its functions, decoding included: some 0.3 ms.
    static let mostSteps = 50_000

    private var instructions: [Instruction] = []
    /// The number of the instruction that each unit belongs to.
    private var numbers: [Int]

    init(units: Int) {
        numbers = []
        numbers.reserveCapacity(units)
    }

    /// - Parameters:
    ///   - units: its own and those of its data.
    ///   - isHandled: whether it is only run after an exception.
    mutating func add(_ units: Range<Int>, jumpsTo target: Int?, continues: Bool, isHandled: Bool) {
        for _ in units { numbers.append(instructions.count) }
        instructions.append(Instruction(begin: units.lowerBound, target: target, continues: continues, isHandled: isHandled))
    }

    /// Whether all jumps lead to instructions.
    var isValid: Bool {
        instructions.allSatisfy { instruction in
            guard let target = instruction.target else { return true }
            return numbers.indices.contains(target) && instructions[numbers[target]].begin == target
        }
    }

    private func target(_ number: Int) -> Int? { instructions[number].target.map { numbers[$0] } }

    /// Whether some jump leads from behind the instruction at that unit to before it, also after an exception.
    /// - Parameter steps: how many are left (``mostSteps``); true if there are too few.
    func mayRepeat(_ unit: Int, within steps: inout Int) -> Bool {
        guard numbers.indices.contains(unit), take(&steps) else { return true }
        let number = numbers[unit]
        return instructions.indices.contains { $0 >= number && target($0).map { $0 <= number } == true }
    }

    /// Takes the steps of visiting all instructions once.
    private func take(_ steps: inout Int) -> Bool {
        steps -= instructions.count
        return steps >= 0
    }

    /// Whether the innermost loop around one instruction contains another one; nil: not known.
    ///
    /// Loops that begin at the same instruction are different ones, although that may be a `continue`.
    /// - Parameter steps: how many are left (``mostSteps``).
    func innermostLoop(around wait: Int, contains other: Int, within steps: inout Int) -> Bool? {
        guard numbers.indices.contains(wait), numbers.indices.contains(other), take(&steps) else { return nil }
        let (wait, other) = (numbers[wait], numbers[other])
        guard wait != other else { return false }
        var ends = instructions.indices.compactMap { end -> (begin: Int, end: Int)? in
            guard !instructions[end].isHandled, let begin = target(end), begin <= wait, begin <= end else { return nil }
            return (begin, end)
        }
        guard ends.count <= Self.mostLoops else { return nil }
        ends.sort { $0.begin != $1.begin ? $0.begin > $1.begin : $0.end < $1.end }
        for (begin, end) in ends {
            guard let loop = loop(begin, end, within: &steps) else { return nil }
            if loop[wait] { return loop[other] }
        }
        return false
    }

    /// The instructions that lead from the begin to the end, and not through the begin again; nil: too few steps.
    private func loop(_ begin: Int, _ end: Int, within steps: inout Int) -> [Bool]? {
        var leads = [Bool](repeating: false, count: instructions.count)
        leads[end] = true
        let isComplete = sweep(instructions.indices.reversed(), within: &steps) { number in
            func leadsOn(_ next: Int?) -> Bool { next.map { $0 != begin && leads[$0] } == true }
            let (next, target) = successors(number)
            guard !leads[number], !instructions[number].isHandled, leadsOn(next) || leadsOn(target) else { return false }
            leads[number] = true
            return true
        }
        guard isComplete else { return nil }
        var found = [Bool](repeating: false, count: instructions.count)
        found[begin] = leads[begin]
        let isFound = sweep(instructions.indices, within: &steps) { number in
            func isNew(_ next: Int?) -> Bool {
                guard let next, leads[next], !found[next] else { return false }
                found[next] = true
                return true
            }
            guard found[number], number != end else { return false }
            let (next, target) = successors(number)
            let isNewNext = isNew(next)
            return isNew(target) || isNewNext
        }
        return isFound ? found : nil
    }

    /// Visits all instructions in that order, until `mark` has marked nothing more; false: too few steps.
    private func sweep(_ order: some Sequence<Int>, within steps: inout Int, _ mark: (Int) -> Bool) -> Bool {
        var isChanged = true
        while isChanged {
            guard take(&steps) else { return false }
            isChanged = false
            for number in order where mark(number) { isChanged = true }
        }
        return true
    }

    private func successors(_ number: Int) -> (next: Int?, target: Int?) {
        let next = instructions[number].continues && number + 1 < instructions.count ? number + 1 : nil
        return (next, target(number))
    }
}
