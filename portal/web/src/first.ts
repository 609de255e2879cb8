// What main needs at once. The build puts this import before every source (esbuild's --inject), so all of it is shared by the same files and becomes one
// chunk. Else the first load is a dozen files, and HTTP/1.1 has six connections.
import "./app/provider";
import "./app/shell";
import "./part/screen";
import "./screen/login/login";
