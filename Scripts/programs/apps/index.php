<?php
if ($_SERVER['SCRIPT_NAME'] === '/sleep') {
    usleep(600000);
} elseif ($_SERVER['SCRIPT_NAME'] === '/hang') {
    sleep(8);
}
echo "hello\n";
