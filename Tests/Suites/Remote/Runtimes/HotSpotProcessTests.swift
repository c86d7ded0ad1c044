internal import Glibc
internal import LagCapture
internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// A waiting Java program, watched from here.
@Suite(.enabled(if: access("/usr/bin/javac", X_OK) == 0, "no Java compiler on this machine"))
struct HotSpotProcessTests {
    /// The interpreter stores the position after that bytecode.
    @Test func `a thread that waits for a monitor is reported at the line that enters it`() throws {
        let program = """
            class Shop {
              static final Object LOCK = new Object();
              public static void main(String[] arguments) throws Exception {
                String[] names = new String[1];
                Thread holder = new Thread(() -> {
                  synchronized (LOCK) {
                    System.out.println("ready");
                    try { Thread.sleep(600_000); } catch (InterruptedException exception) { }
                  }
                });
                holder.start();
                while (holder.getState() != Thread.State.TIMED_WAITING) Thread.sleep(1);
                synchronized (LOCK) {
                  names[0] = "behind it";
                }
              }
            }
            """
        let process = try InterpretedProcess("/usr/bin/java", program, file: "Shop.java")
        var found: [String] = []
        _ = eventually {
            found = process.threads.compactMap { process.own(process.take($0)).first { $0.hasPrefix("Shop.main") } }
            return found == ["Shop.main:13"]
        }
        #expect(found == ["Shop.main:13"])
    }

    /// The interpreter replaces the bytecode that loads the first local variable by another one.
    @Test func `a thread that enters a monitor a second time is reported at the line that enters it`() throws {
        let program = """
            class Shop {
              static final Object LOCK = new Object();
              static void enter(String[] names) {
                synchronized (LOCK) {
                  names[0] = "behind it";
                }
              }
              public static void main(String[] arguments) throws Exception {
                String[] names = new String[1];
                enter(names);
                Thread holder = new Thread(() -> {
                  synchronized (LOCK) {
                    System.out.println("ready");
                    try { Thread.sleep(600_000); } catch (InterruptedException exception) { }
                  }
                });
                holder.start();
                while (holder.getState() != Thread.State.TIMED_WAITING) Thread.sleep(1);
                enter(names);
              }
            }
            """
        let process = try InterpretedProcess("/usr/bin/java", program, file: "Shop.java")
        var found: [String] = []
        _ = eventually {
            found = process.threads.compactMap { process.own(process.take($0)).first { $0.hasPrefix("Shop.enter") } }
            return found == ["Shop.enter:4"]
        }
        #expect(found == ["Shop.enter:4"])
    }
}
