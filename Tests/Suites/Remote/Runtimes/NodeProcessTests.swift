internal import Foundation
internal import Glibc
internal import LagActivity
internal import LagCapture
internal import LagModel
internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// A node that stalls, watched from here.
private enum NodeProcess {
    static let path = (["/usr/bin/node", "/usr/local/bin/node"] as [String]).first { access($0, X_OK) == 0 }

    static let program = """
        const cell = new Int32Array(new SharedArrayBuffer(4));
        class Shop {
          checkout() {
            return [1].map((number) => wait(number.valueOf()));
          }
        }
        function wait(number) {
          if (number === 1 && process.argv[2] === 'sleep') {
            Atomics.wait(cell, 0, 0, 600000);
          }
          return number;
        }
        function spin() {
          const start = Date.now();
          while (Date.now() - start < 600000);
        }
        function leaf(isLast) {
          return isLast ? Atomics.wait(cell, 0, 0, 600000) : 1;
        }
        function branch(isLast) {
          return leaf(isLast);
        }
        function mix(value, round) {
          return Math.imul(value ^ round, 31);
        }
        function total(first) {
          let value = first;
          for (let turn = 0; turn < 1e6; turn++) {
            for (let round = 0; round < 1e6; round++) {
              value = mix(value, round);
            }
          }
          return value;
        }
        function piece(text, round) {
          return text + 'abcdefgh'[round & 7] + round;
        }
        function texts() {
          let text = '';
          for (let round = 0; round < 1e12; round++) {
            text = piece(text.length > 50 ? '' : text, round);
          }
          return text;
        }
        setTimeout(function run() {
          console.log('ready');
          if (process.argv[2] === 'spin') spin();
          if (process.argv[2] === 'loop') total(1);
          if (process.argv[2] === 'texts') texts();
          if (process.argv[2] === 'hot') {
            for (let round = 0; round < 300000; round++) branch(false);
            branch(true);
          }
          new Shop().checkout();
        }, 10);
        """

    /// Of each call of itself it keeps what makes the stack larger than what is copied of one.
    static let recursion = """
        const cell = new Int32Array(new SharedArrayBuffer(4));
        function down(count) {
          if (count) return down(count - 1) + down.length;
          if (process.argv[2] === 'sleep') Atomics.wait(cell, 0, 0, 600000);
          while (true);
        }
        function serve() {
          down(3000);
        }
        setTimeout(function run() {
          console.log('ready');
          serve();
        }, 10);
        """

    static func start(_ mode: String) throws -> InterpretedProcess {
        try InterpretedProcess(path ?? "", program, file: "shop.js", [mode], ownFile: "/shop.js")
    }
}

@Suite(.enabled(if: NodeProcess.path != nil, "no node on this machine"))
struct NodeProcessTests {
    static let checkout = ["wait (shop.js):9", "<anonymous> (shop.js):4", "checkout (shop.js):4", "run (shop.js):54"]
    static let hot = ["leaf (shop.js):18", "branch (shop.js):21", "run (shop.js):52"]

    @Test func `a function without a name is told from others by the names that it uses`() throws {
        let process = try NodeProcess.start("sleep")
        #expect(eventually { process.variants()["<anonymous>"] == "valueOf" }, "\(process.variants())")
    }

    /// In the interpreter, and in code that was compiled with one function put into the other.
    @Test(arguments: [("sleep", NodeProcessTests.checkout), ("hot", NodeProcessTests.hot)])
    func `a thread that sleeps has the functions of JavaScript, with lines`(mode: String, expected: [String]) throws {
        let process = try NodeProcess.start(mode)
        var found: [String] = []
        let isFound = eventually {
            let outcome = process.take()
            found = process.own(outcome)
            return outcome.method == .passive && found == expected
        }
        #expect(isFound, "\(found)")
    }

    #if arch(x86_64)
        /// Between calls optimised code has no positions, but each loop asks whether it is to stop.
        @Test func `a loop of optimised code has its line`() throws {
            let process = try NodeProcess.start("loop")
            var found: [String] = []
            let isFound = eventually {
                found = process.own(process.take())
                return found == ["total (shop.js):29", "run (shop.js):48"]
            }
            #expect(isFound, "\(found)")
        }

        /// Those that add texts are builtins, which make no frame of their own at first: the function that was put into the other one called them.
        @Test func `who calls a builtin without a frame has its line`() throws {
            let process = try NodeProcess.start("texts")
            #expect(eventually { process.own(process.take()).first == "piece (shop.js):36" })
            var found: [String: Int] = [:]
            for _ in 0..<150 { found[process.own(process.take()).first ?? "", default: 0] += 1 }
            // What lies between calls is the loop's.
            let withoutLine = found.filter { $0.key.hasSuffix(":0") }.values.reduce(0, +)
            #expect(found["piece (shop.js):36"] ?? 0 > 75 && withoutLine < 10, "\(found)")
        }
    #endif

    @Test func `a thread that runs has them, too`() throws {
        let process = try NodeProcess.start("spin")
        var found: [String] = []
        let isFound = eventually {
            let outcome = process.take()
            found = process.own(outcome)
            return outcome.method == .ptrace && found.last == "run (shop.js):47"
                && found.first?.hasPrefix("spin (shop.js)") == true
        }
        #expect(isFound, "\(found)")
        #expect(found.count == 2 && ["spin (shop.js):15", "spin (shop.js):0"].contains(found[0]), "\(found)")
    }

    @Test(arguments: ["sleep", "spin"]) func `of a deep recursion the innermost functions are there, and who began it`(
        mode: String
    ) throws {
        let process = try InterpretedProcess(
            NodeProcess.path ?? "",
            NodeProcess.recursion,
            file: "deep.js",
            [mode],
            ownFile: "/deep.js"
        )
        var found: [String] = []
        let isFound = eventually {
            found = process.own(process.take())
            return found.suffix(2) == ["serve (deep.js):8", "run (deep.js):12"]
        }
        #expect(isFound && found.first?.hasPrefix("down (deep.js):") == true && found.count > 150, "\(found)")
    }
}
