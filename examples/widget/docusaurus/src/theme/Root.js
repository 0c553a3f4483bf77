import { useEffect } from "react";
import useDocusaurusContext from "@docusaurus/useDocusaurusContext";

// Docusaurus renders Root once around all pages, so the chat stays when a reader moves to another page.
export default function Root({ children }) {
  const { bookwise } = useDocusaurusContext().siteConfig.customFields;
  useEffect(() => {
    const script = document.createElement("script");
    script.src = bookwise.src;
    Object.assign(script.dataset, bookwise.attributes);
    document.head.append(script);
    return () => {
      window.Bookwise?.destroy();
      script.remove();
    };
  }, [bookwise]);
  return children;
}
