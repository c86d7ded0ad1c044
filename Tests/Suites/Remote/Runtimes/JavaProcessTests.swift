internal import Foundation
internal import Glibc
internal import LagActivity
internal import LagCapture
internal import LagModel
internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// A program of Java that stalls, watched from here. The machine runs it on a thread that it makes.
private enum JavaProcess {
    /// One that can run a source file.
    static let path = (["/usr/bin/java"] as [String]).first { access($0, X_OK) == 0 && access("/usr/bin/javac", X_OK) == 0 }

    static let program = """
        import java.util.function.*;
        public class Shop {
          static volatile long sink;
          static class Cart {
            long total(LongUnaryOperator price) {
              return price.applyAsLong(1);
            }
          }
          static long doze(long value) {
            try {
              Thread.sleep(600000);
            } catch (InterruptedException stopped) { }
            return value;
          }
          static long mix(long value, long round) {
            return (value ^ round) * 31;
          }
          static void spin(long rounds) {
            long value = 1;
            for (long round = 0; round < rounds; round++) {
              value = mix(value, round);
            }
            sink = value;
          }
          static abstract class Pet {
            abstract long sound();
          }
          static class Dog extends Pet {
            long sound() { return 1; }
          }
          static class Cat extends Pet {
            long sound() { return 2; }
          }
          static long meet(boolean isLast) {
            return isLast ? new Cat().sound() + doze(2) : 1;
          }
          static long talk(Pet pet, boolean isLast) {
            return pet.sound() + meet(isLast) + pet.sound();
          }
          static long leaf(boolean isLast) {
            return isLast ? doze(2) : 1;
          }
          static long branch(boolean isLast) {
            return leaf(isLast) + 1;
          }
          public static void main(String[] arguments) {
            System.out.println("ready");
            if (arguments[0].equals("spin")) spin(Long.MAX_VALUE);
            if (arguments[0].equals("hot")) {
              for (int round = 0; round < 300000; round++) sink = branch(false);
              branch(true);
            }
            if (arguments[0].equals("given")) {
              for (int round = 0; round < 300000; round++) sink = talk(new Dog(), false);
              talk(new Dog(), true);
            }
            new Cart().total(amount -> doze(amount));
          }
        }
        """

    static func start(_ mode: String) throws -> InterpretedProcess {
        try InterpretedProcess(path ?? "", program, file: "Shop.java", [mode], ownFile: "Shop.java")
    }
}

#if arch(x86_64)
    @Suite(.enabled(if: JavaProcess.path != nil, "no Java on this machine"))
    struct JavaProcessTests {
        static let lambda = ["Shop.doze:11", "Shop.lambda$main$0:57", "Shop$Cart.total:6", "Shop.main:57"]
        static let hot = ["Shop.doze:11", "Shop.leaf:41", "Shop.branch:44", "Shop.main:51"]
        static let given = ["Shop.doze:11", "Shop.meet:35", "Shop.talk:38", "Shop.main:55"]

        /// What the program's main function runs on is not the process's first thread.
        private func own(_ process: InterpretedProcess, _ method: CaptureMethod) -> [[String]] {
            process.threads.compactMap { tid in
                let outcome = process.take(tid)
                return outcome.method == method ? process.own(outcome) : nil
            }
        }

        /// In the interpreter, in code that was compiled with one method put into another, and in code that is wrong since another class was loaded.
        @Test(arguments: [("sleep", JavaProcessTests.lambda), ("hot", JavaProcessTests.hot), ("given", JavaProcessTests.given)])
        func `a thread that sleeps has the methods of Java, with lines`(mode: String, expected: [String]) throws {
            let process = try JavaProcess.start(mode)
            var found: [[String]] = []
            let isFound = eventually {
                found = own(process, .passive)
                return found.contains(expected)
            }
            #expect(isFound, "\(found)")
        }

        @Test func `a thread that runs has them, too`() throws {
            let process = try JavaProcess.start("spin")
            var found: [[String]] = []
            let isFound = eventually {
                found = own(process, .ptrace)
                return found.contains { $0.last == "Shop.main:48" && $0.contains { $0.hasPrefix("Shop.spin:2") } }
            }
            #expect(isFound, "\(found)")
        }
    }
#endif
