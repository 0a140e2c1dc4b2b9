import "./browser";
import "./charts";
import "./csv";
import "./filters";
import "./json";
import "./text";
import "./time";
import "./flags";
