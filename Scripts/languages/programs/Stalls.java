// Stalls in compiled methods of known name: Stalls SCENARIO ROUNDS TRUTH LEAD. A selector rests between them, and LEAD seconds before; of each stall
// TRUTH gets begin and end. What is compiled is known to the perf map that is written before the first stall.
import java.io.FileWriter;
import java.io.PrintWriter;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

public class Stalls {
    static final int RESTS = 25;
    static final int REST_MILLISECONDS = 20;
    static final int WARM_UP_CALLS = 20000;
    static long sink;

    static void multiply(long rounds) {
        long value = 1;
        for (long round = 0; round < rounds; round++) value = (value * 31 + round) ^ (value >>> 7); // @stall arithmetic Stalls.multiply
        sink = value;
    }

    static long descend(long depth) {
        return depth < 2 ? 1 : descend(depth - 1) + descend(depth - 2); // @stall recursion Stalls.descend
    }

    static void search(long[] values, int rounds) {
        for (int round = 0; round < rounds; round++) // @stall array Stalls.search
            for (long value : values) if (value == round) sink++; // @stall array Stalls.search
    }

    static void stall(String name, int size) {
        switch (name) {
            case "arithmetic": multiply(size * 350000000L / 100); break;
            case "recursion": sink = descend(size == 100 ? 41 : 15); break;
            default: search(new long[10000], size * 120000 / 100); break;
        }
    }

    static void rest(Selector selector, int count) throws Exception {
        for (int number = 0; number < count; number++) selector.select(REST_MILLISECONDS);
    }

    public static void main(String[] arguments) throws Exception {
        String name = arguments[0];
        Selector selector = Selector.open();
        ServerSocketChannel server = ServerSocketChannel.open();
        server.bind(new InetSocketAddress("127.0.0.1", 0));
        server.configureBlocking(false);
        server.register(selector, SelectionKey.OP_ACCEPT);
        for (int number = 0; number < WARM_UP_CALLS; number++) stall(name, 0);
        for (int number = 0; number < 3; number++) stall(name, 100);
        new ProcessBuilder("jcmd", Long.toString(ProcessHandle.current().pid()), "Compiler.perfmap").start().waitFor();
        try (PrintWriter truth = new PrintWriter(new FileWriter(arguments[2]), true)) {
            rest(selector, (int) (Double.parseDouble(arguments[3]) * 1000 / REST_MILLISECONDS));
            for (int round = 0; round < Integer.parseInt(arguments[1]); round++) {
                rest(selector, RESTS);
                // Somebody waits meanwhile.
                Socket client = new Socket("127.0.0.1", ((InetSocketAddress) server.getLocalAddress()).getPort());
                long begin = System.nanoTime();
                stall(name, 100);
                truth.println(begin + " " + System.nanoTime());
                selector.selectNow();
                selector.selectedKeys().clear();
                SocketChannel accepted = server.accept();
                if (accepted != null) accepted.close();
                client.close();
            }
            rest(selector, RESTS);
        }
    }
}
