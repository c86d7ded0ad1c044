// Stalls with a known method and line: Stalls SCENARIO ROUNDS TRUTH LEAD. A selector waits between the stalls, and LEAD seconds before the first. Writes
// the start and end of each stall to TRUTH. TURN: a hard link to the TRUTH of the program that stalls; programs that run at the same time stall one after another.
import java.io.File;
import java.io.FileWriter;
import java.io.InputStream;
import java.io.PrintWriter;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.regex.Pattern;

public class Stalls {
    static final int RESTS = 25;
    static final int REST_MILLISECONDS = 20;
    static final long MILLISECONDS = 350;
    static final int WARM_UP_CALLS = 20000;
    static final Object LOCK = new Object();
    static volatile long sink;

    static long end(long milliseconds) {
        return System.nanoTime() + milliseconds * 1000000;
    }

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

    static void doze(long milliseconds) throws Exception {
        Thread.sleep(milliseconds); // @stall sleep Stalls.doze
    }

    static void enter(long milliseconds) throws Exception {
        Thread keeper = new Thread(() -> keep(milliseconds));
        keeper.start(); // @stall monitor Stalls.enter
        Thread.sleep(milliseconds / 50); // @stall monitor Stalls.enter
        synchronized (LOCK) { // @stall monitor Stalls.enter
            sink++; // @stall monitor Stalls.enter
        }
        keeper.join(); // @stall monitor Stalls.enter
    }

    static void keep(long milliseconds) {
        synchronized (LOCK) {
            for (long end = end(milliseconds); System.nanoTime() < end; ) sink++;
        }
    }

    static void readPipe(long milliseconds) throws Exception {
        Process child = new ProcessBuilder("/bin/sleep", Double.toString(milliseconds / 1000.0)).start();
        try (InputStream output = child.getInputStream()) {
            output.read(); // @stall pipe Stalls.readPipe
        }
    }

    // readChannel and await block in native methods, which the interpreter calls.
    static void readChannel(long milliseconds) throws Exception {
        try (ServerSocketChannel server = ServerSocketChannel.open().bind(new InetSocketAddress("127.0.0.1", 0));
            SocketChannel client = SocketChannel.open(server.getLocalAddress()); SocketChannel peer = server.accept()) {
            new Thread(() -> answer(peer, milliseconds)).start(); // @stall channel Stalls.readChannel
            client.read(ByteBuffer.allocate(8)); // @stall channel Stalls.readChannel
        }
    }

    static void answer(SocketChannel peer, long milliseconds) {
        try {
            Thread.sleep(milliseconds);
            peer.write(ByteBuffer.allocate(8));
        } catch (Exception stopped) {
            sink++;
        }
    }

    static void await(long milliseconds) throws Exception {
        synchronized (LOCK) { // @stall wait Stalls.await
            LOCK.wait(milliseconds + 1); // @stall wait Stalls.await
        }
    }

    static void pause(long milliseconds) {
        Runnable wait = () -> {
            for (long end = end(milliseconds); System.nanoTime() < end; ) sink++; // @stall lambda Stalls.lambda$pause$2
        };
        wait.run();
    }

    static void match(long milliseconds) {
        Pattern pattern = Pattern.compile("^(a+)+$");
        String text = "a".repeat(16) + "b";
        for (long end = end(milliseconds); System.nanoTime() < end; ) // @stall regex Stalls.match
            if (pattern.matcher(text).matches()) sink++; // @stall regex Stalls.match
    }

    static void join(long milliseconds) {
        StringBuilder text = new StringBuilder();
        for (long end = end(milliseconds); System.nanoTime() < end; ) { // @stall texts Stalls.join
            text.append(sink++); // @stall texts Stalls.join
            if (text.length() > 100000) text.setLength(0); // @stall texts Stalls.join
        }
    }

    static void fail(long milliseconds) {
        for (long end = end(milliseconds); System.nanoTime() < end; ) { // @stall exception Stalls.fail
            try { // @stall exception Stalls.fail
                Integer.parseInt("x" + sink); // @stall exception Stalls.fail
            } catch (NumberFormatException error) { // @stall exception Stalls.fail
                sink++; // @stall exception Stalls.fail
            }
        }
    }

    static void allocate(long milliseconds) {
        ArrayList<byte[]> kept = new ArrayList<>();
        for (long end = end(milliseconds); System.nanoTime() < end; ) { // @stall allocation Stalls.allocate
            kept.add(new byte[10000]); // @stall allocation Stalls.allocate
            if (kept.size() > 2000) kept.clear(); // @stall allocation Stalls.allocate
        }
    }

    static int compare(Integer left, Integer right) {
        if (left == 7) try { // @stall sort-callback Stalls.compare
            Thread.sleep(MILLISECONDS); // @stall sort-callback Stalls.compare
        } catch (InterruptedException stopped) { // @stall sort-callback Stalls.compare
        }
        return Integer.compare(left, right);
    }

    static void stall(String name, int size) throws Exception {
        long milliseconds = MILLISECONDS * size / 100;
        switch (name) {
            case "arithmetic": multiply(size * 350000000L / 100); break;
            case "recursion": sink = descend(size == 100 ? 41 : 15); break;
            case "array": search(new long[10000], size * 120000 / 100); break;
            case "sleep": doze(milliseconds); break;
            case "monitor": enter(milliseconds); break;
            case "pipe": readPipe(milliseconds); break;
            case "channel": readChannel(milliseconds); break;
            case "wait": await(milliseconds); break;
            case "lambda": pause(milliseconds); break;
            case "regex": match(milliseconds); break;
            case "texts": join(milliseconds); break;
            case "exception": fail(milliseconds); break;
            case "allocation": allocate(milliseconds); break;
            default: if (size > 0) Arrays.sort(new Integer[] {1, 7, 2}, Stalls::compare); break;
        }
    }

    static void rest(Selector selector, int count) throws Exception {
        for (int number = 0; number < count; number++) selector.select(REST_MILLISECONDS);
    }

    static boolean takesTurn(File turn, String truth) throws Exception {
        if (turn == null) return true;
        try {
            Files.createLink(turn.toPath(), new File(truth).toPath());
            return true;
        } catch (FileAlreadyExistsException error) {
            return false;
        }
    }

    public static void main(String[] arguments) throws Exception {
        String name = arguments[0];
        File turn = System.getenv("TURN") == null ? null : new File(System.getenv("TURN"));
        Selector selector = Selector.open();
        ServerSocketChannel server = ServerSocketChannel.open();
        server.bind(new InetSocketAddress("127.0.0.1", 0));
        server.configureBlocking(false);
        server.register(selector, SelectionKey.OP_ACCEPT);
        // After the warm-up, methods that compute are compiled; for the others only the classes are loaded, so they run in the interpreter.
        int calls = name.matches("arithmetic|recursion|array") ? WARM_UP_CALLS : 1;
        for (int number = 0; number < calls; number++) stall(name, 0);
        try (PrintWriter truth = new PrintWriter(new FileWriter(arguments[2]), true)) {
            rest(selector, (int) (Double.parseDouble(arguments[3]) * 1000 / REST_MILLISECONDS));
            for (int round = 0; round < Integer.parseInt(arguments[1]); round++) {
                rest(selector, RESTS);
                while (!takesTurn(turn, arguments[2])) rest(selector, 1);
                // A client waits during the stall.
                Socket client = new Socket("127.0.0.1", ((InetSocketAddress) server.getLocalAddress()).getPort());
                long begin = System.nanoTime();
                stall(name, 100);
                long finish = System.nanoTime();
                // The first `+` of texts takes long on a busy machine.
                truth.print(begin);
                truth.print(' ');
                truth.println(finish);
                if (turn != null) turn.delete();
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
