/// Computes how much each function covers, for ``Culprit``.
struct CulpritSearch {
    /// A blamed function and its kind of frame.
    struct Blamed {
        let function: String
        /// How likely a function of its kind is to blame.
        let factor: Double
    }

    /// Stacks that are alike.
    struct Group {
        let first: Int
        var heaviest: Int
        /// Whether that one has a line for the requested function.
        var hasLine: Bool
        var weight: Double
        var samples: UInt64
    }

    private enum Factor {
        static let notProgramCode = 0.5
        static let runtimeCode = 0.2
        static let fromTemplate = 0.7
        static let doubtful = 0.6
        static let singleSample = 0.3
        static let incomplete = 0.2
        static let hidden = 0.5
        /// Where the function's caller names it.
        static let direct = 0.13
        /// A library's callback that has called another function.
        static let callback = 0.1
        /// Any other that a pointer called.
        static let pointer = 0.38
        /// At least as much as where the call is known.
        static let unknownCall = (calling: 0.13, running: 0.2)

        static func inlined(into frame: CulpritFrame, isRunning: Bool) -> Double {
            switch frame.isCalledDirectly {
            case true: direct
            case false: frame.isCalledByLibrary && !isRunning ? callback : pointer
            default: isRunning ? unknownCall.running : unknownCall.calling
            }
        }
    }

    /// The order in which frames are considered.
    private enum Kind: CaseIterable {
        case programCode, workingEntry, unnamedProgramCode, libraryCode, unnamedLibraryCode, runtimeCode, entry, machinery
    }

    private let stacks: [CulpritStack]
    private let roles: [[FrameRole]]
    /// Doubles represent nanoseconds exactly for 104 days.
    private let weights: [Double]
    /// The weight of all samples.
    let totalWeight: Double
    /// The weight of the samples with a stack.
    let stackWeight: Double
    private var coverage: [String: Double] = [:]

    init(_ stacks: [CulpritStack]) {
        self.stacks = stacks
        var known: [String: FrameRole] = [:]
        roles = stacks.map { stack in
            let roles = stack.frames.map { frame -> FrameRole in
                // Not by its name: a handler may call what called the loop.
                if frame.isLoopCode { return .machinery }
                if let role = known[frame.function] { return role }
                let role = FrameRole(
                    symbol: frame.symbol,
                    hasOwnSource: frame.inApp && frame.hasLine,
                    isOfLanguage: frame.isOfLanguage
                )
                known[frame.function] = role
                return role
            }
            return Self.withImportedModules(roles, of: stack)
        }
        // Samples without a weight count equally.
        let areWeighted = stacks.contains { $0.weightNanoseconds > 0 && !$0.frames.isEmpty }
        weights = stacks.map { Double(areWeighted ? $0.weightNanoseconds : $0.samples) }
        totalWeight = weights.reduce(0, +)
        stackWeight = zip(stacks, weights).reduce(0) { $1.0.frames.isEmpty ? $0 : $0 + $1.1 }
        for (stack, weight) in zip(stacks, weights) {
            for function in Set(stack.frames.map(\.function)) { coverage[function, default: 0] += weight }
        }
    }

    /// A Python file that a function of the program imports is not an entry of the program: its code runs like any other
    /// function's.
    private static func withImportedModules(_ roles: [FrameRole], of stack: CulpritStack) -> [FrameRole] {
        guard let importer = roles.indices.last(where: { roles[$0] == .code && stack.frames[$0].inApp }) else { return roles }
        var roles = roles
        for position in 0..<importer where roles[position] == .entry && FrameRole.isModule(stack.frames[position].symbol) {
            roles[position] = .code
        }
        return roles
    }

    /// The function to blame; nil if there are only thunks.
    func blamed() -> Blamed? {
        for kind in Kind.allCases {
            if let function = nearestToTheLeaf(of: kind, amongCovering: true, in: Array(stacks.indices)) {
                return blamed(function, as: kind)
            }
        }
        let groups = groups(holding: nil)
        guard let heaviest = groups.max(by: { ($0.weight, -$0.first) < ($1.weight, -$1.first) })?.heaviest else { return nil }
        for kind in Kind.allCases {
            if let function = nearestToTheLeaf(of: kind, amongCovering: false, in: [heaviest]) {
                return blamed(function, as: kind)
            }
        }
        return nil
    }

    private func blamed(_ function: String, as kind: Kind) -> Blamed {
        // What runs a language's callbacks belongs to its runtime, too.
        let frames = stacks.lazy.flatMap(\.frames).filter { $0.function == function }
        // A template's argument shows its creator; other code may have been merged into it.
        let certain = frames.contains { !$0.isFromTemplate } ? 1 : Factor.fromTemplate
        let own = frames.contains { !$0.isDoubtful } ? certain : Factor.doubtful
        let factor =
            kind == .programCode ? own : frames.contains(where: \.isRuntime) ? Factor.runtimeCode : Factor.notProgramCode
        return Blamed(function: function, factor: factor)
    }

    /// Stacks with the same functions, each counted where it is nearest to the leaf; only those that contain `function`.
    func groups(holding function: String?) -> [Group] {
        var groups: [[String]: Group] = [:]
        for (index, stack) in stacks.enumerated() where !stack.frames.isEmpty {
            var seen: Set<String> = []
            let functions = stack.frames.map(\.function).filter { seen.insert($0).inserted }
            if let function, !seen.contains(function) { continue }
            let hasLine = stack.frames.first { $0.function == function }?.hasLine ?? false
            if var group = groups[functions] {
                if hasLine == group.hasLine ? weights[index] > weights[group.heaviest] : hasLine {
                    (group.heaviest, group.hasLine) = (index, hasLine)
                }
                group.weight += weights[index]
                group.samples += stack.samples
                groups[functions] = group
            } else {
                groups[functions] = Group(
                    first: index,
                    heaviest: index,
                    hasLine: hasLine,
                    weight: weights[index],
                    samples: stack.samples
                )
            }
        }
        return Array(groups.values)
    }

    /// The formula of ``Culprit/confidence``.
    func confidence(in blamed: Blamed) -> Double {
        let covered = coverage[blamed.function] ?? 0
        guard covered > 0, totalWeight > 0 else { return 0 }
        var (incomplete, hidden, inlined, squares) = (0.0, 0.0, 0.0, 0.0)
        for (index, stack) in stacks.enumerated() {
            guard let place = stack.frames.firstIndex(where: { $0.function == blamed.function }) else { continue }
            let weight = weights[index]
            squares += weight * weight / Double(stack.samples)
            if !stack.isComplete { incomplete += weight }
            let isHidden = stack.frames.indices.prefix(place).contains {
                stack.frames[$0].isNameLost || isFrame(.unnamedProgramCode, at: $0, of: index)
            }
            if isHidden { hidden += weight }
            if stack.frames[place].hidesInlined {
                inlined += weight * Factor.inlined(into: stack.frames[place], isRunning: place == 0)
            }
        }
        let samples = max(1, covered * covered / squares)
        return covered / totalWeight
            * blamed.factor
            * (1 - Factor.singleSample / samples)
            * (1 - Factor.incomplete * incomplete / covered)
            * (1 - Factor.hidden * hidden / covered)
            * (1 - inlined / covered)
    }

    private func nearestToTheLeaf(of kind: Kind, amongCovering: Bool, in indices: [Int]) -> String? {
        var nearest: [String: Double] = [:]
        // In the order of the stacks, so that of equally heavy ones the first is found.
        var functions: [String] = []
        for index in indices {
            let frames = stacks[index].frames
            let place = frames.indices.first { position in
                isFrame(kind, at: position, of: index)
                    && (!amongCovering || (coverage[frames[position].function] ?? 0) * 2 > stackWeight)
            }
            guard let place else { continue }
            let function = frames[place].function
            if nearest[function] == nil { functions.append(function) }
            nearest[function, default: 0] += weights[index]
        }
        var heaviest: String?
        var most = -Double.infinity
        for function in functions {
            guard let weight = nearest[function], weight > most else { continue }
            (heaviest, most) = (function, weight)
        }
        return heaviest
    }

    /// Whether it was called by a language's function whose name is not known: then that function is to blame, and not the C
    /// library.
    private func isInterpreted(_ position: Int, of index: Int) -> Bool {
        // A function further out than one with a name did not call it directly.
        stacks[index].frames[position...].first { $0.isInterpreter || $0.inApp || !$0.isRuntime }?.isInterpreter ?? false
    }

    /// Whether it only leads to code without a name.
    private func runsInterpreter(_ position: Int, of index: Int) -> Bool {
        stacks[index].frames[..<position].contains(where: \.isInterpreter)
    }

    private func isFrame(_ kind: Kind, at position: Int, of index: Int) -> Bool {
        guard !stacks[index].frames[position].isInterpreter else { return false }
        let role = roles[index][position]
        let (inApp, isRuntime) = (stacks[index].frames[position].inApp, stacks[index].frames[position].isRuntime)
        return switch kind {
        case .programCode: role == .code && inApp
        case .workingEntry: role == .entry && inApp && !roles[index][..<position].contains(.machinery)
        case .unnamedProgramCode: role == .unnamed && inApp
        case .libraryCode: role == .code && !inApp && !isRuntime
        case .unnamedLibraryCode: role == .unnamed && !inApp && !isRuntime
        case .runtimeCode: (role == .code || role == .unnamed) && !inApp && isRuntime && !isInterpreted(position, of: index)
        case .entry: role == .entry && !runsInterpreter(position, of: index)
        case .machinery: role == .machinery && !runsInterpreter(position, of: index)
        }
    }
}
