internal import TestSupport

/// Creates inputs from seed inputs. The same random seed produces the same inputs on every machine.
struct Mutator {
    private var generator: SeededGenerator
    private let seeds: [[UInt8]]
    private let tokens: [[UInt8]]

    /// Longer inputs are truncated, because slowness caused by length is not a find.
    static let maximumBytes = 1 << 20

    /// - Parameter seeds: at least one.
    init(seed: UInt64, seeds: [[UInt8]], tokens: [String]) {
        generator = SeededGenerator(seed: seed)
        self.seeds = seeds
        self.tokens = tokens.map { Array($0.utf8) } + Self.numbers
    }

    /// Boundary values for the readers' arithmetic, in the widths of binary formats.
    private static let numbers: [[UInt8]] = [1, 2, 4, 8].flatMap { width in
        [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, UInt64.max >> 1, 1 << 63, .max]
            .map { number in (0..<width).map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) } }
    }

    mutating func next() -> [UInt8] {
        var input = seeds[Int(generator.next() % UInt64(seeds.count))]
        // Mostly few mutations: a reader rejects an input that is damaged everywhere at its first byte.
        for _ in 0...generator.below(generator.below(4) == 0 ? 32 : 4) { mutate(&input) }
        return Array(input.prefix(Self.maximumBytes))
    }

    private mutating func mutate(_ input: inout [UInt8]) {
        guard !input.isEmpty else {
            input = tokens[generator.below(tokens.count)]
            return
        }
        let place = generator.below(input.count)
        let length = min(1 + generator.below(generator.below(8) == 0 ? 4096 : 16), input.count - place)
        switch generator.below(8) {
        case 0: input[place] ^= 1 << UInt8(generator.below(8))
        case 1: input[place] = UInt8(truncatingIfNeeded: generator.next())
        case 2: input.removeSubrange(place..<(place + length))
        case 3: input.insert(contentsOf: Array(input[place..<(place + length)]), at: generator.below(input.count + 1))
        case 4: input.removeSubrange(place...)
        case 5: input.insert(contentsOf: tokens[generator.below(tokens.count)], at: place)
        case 6:
            let token = tokens[generator.below(tokens.count)].prefix(input.count - place)
            input.replaceSubrange(place..<(place + token.count), with: token)
        default:
            // Replaced by a part of another seed.
            let other = seeds[generator.below(seeds.count)]
            guard place < other.count else { return }
            let part = other[place..<min(other.count, place + length)]
            input.replaceSubrange(place..<min(input.count, place + part.count), with: part)
        }
    }
}

extension SeededGenerator {
    mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }
}
