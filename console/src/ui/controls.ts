// Nearly every screen has these controls. As parts of the first load they leave room in each route;
// package.json says that their imports have an effect, or the bundler would leave them out here.
import "@/ui/Badge";
import "@/ui/combobox";
import "@/ui/Copy";
import "@/ui/DateRange";
import "@/ui/DateTimeInput";
import "@/ui/Popover";
import "@/ui/Select";
import "@/ui/Tabs";
import "@/ui/Time";
