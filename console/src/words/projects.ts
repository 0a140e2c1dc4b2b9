/** Projects, as they are named in their settings and when they are created. */
export const words = {
  newProject: "New project",
  create: "Create project",
  name: "Name",
  timezone: "Time zone",
  timezoneHint: "Charts show days and hours in this time zone.",
  first: {
    title: "Welcome to Fanion",
    hint: "Name your project and say who you are. You can change all of this later in the settings.",
    project: "Project name",
    you: "Your name",
    email: "Your e-mail address",
    emailHint: "You sign in with this address.",
    save: "Continue",
    skip: "Not now",
  },
} as const;
