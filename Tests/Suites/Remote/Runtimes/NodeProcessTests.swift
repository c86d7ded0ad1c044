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
        setTimeout(function run() {
          console.log('ready');
          if (process.argv[2] === 'spin') spin();
          if (process.argv[2] === 'loop') total(1);
          if (process.argv[2] === 'hot') {
            for (let round = 0; round < 300000; round++) branch(false);
            branch(true);
          }
          new Shop().checkout();
        }, 10);
        """

    static func start(_ mode: String) throws -> InterpretedProcess {
        try InterpretedProcess(path ?? "", program, file: "shop.js", [mode], ownFile: "/shop.js")
    }
}

@Suite(.enabled(if: NodeProcess.path != nil, "no node on this machine"))
struct NodeProcessTests {
    static let checkout = ["wait (shop.js):9", "<anonymous> (shop.js):4", "checkout (shop.js):4", "run (shop.js):43"]
    static let hot = ["leaf (shop.js):18", "branch (shop.js):21", "run (shop.js):41"]

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
                return found == ["total (shop.js):29", "run (shop.js):38"]
            }
            #expect(isFound, "\(found)")
        }
    #endif

    @Test func `a thread that runs has them, too`() throws {
        let process = try NodeProcess.start("spin")
        var found: [String] = []
        let isFound = eventually {
            let outcome = process.take()
            found = process.own(outcome)
            return outcome.method == .ptrace && found.last == "run (shop.js):37"
                && found.first?.hasPrefix("spin (shop.js)") == true
        }
        #expect(isFound, "\(found)")
        #expect(found.count == 2 && ["spin (shop.js):15", "spin (shop.js):0"].contains(found[0]), "\(found)")
    }
}
