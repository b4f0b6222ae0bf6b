<?php
echo '<html><body>';
for ($i = 0; $i < 4000; $i++) {
    echo "<p>Paragraph $i of a long page, which a browser takes compressed.</p>\n";
}
echo '</body></html>';
