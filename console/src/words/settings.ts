export const words = {
  accountTitle: "Your account",
  organizationTitle: "Organization",
  projectTitle: "Project settings",
} as const;
