package nearest

import (
	"slices"
	"strings"
	"sync"
)

// tools are names that tools of other servers and clients have, by the names that they have
// here, the most likely first. The last are for what only clients do themselves.
const tools = `
read_file: read read_text_file read_multiple_files read_many_files view str_replace_based_edit_tool str_replace_editor view_file cat open open_file get_file get_file_contents file_read fs_read load_file read_media_file
write_file: write create str_replace_based_edit_tool str_replace_editor create_file save_file new_file file_write fs_write put_file write_to_file
edit_file: edit multi_edit str_replace_editor str_replace_based_edit_tool str_replace apply_patch apply_diff edit_block replace replace_in_file search_replace file_edit update_file patch
append_file: append append_to_file
list_directory: ls dir list_dir list_files list_directory_with_sizes directory_tree tree list_folder list get_file_info file_info stat
search_files: glob find find_files find_file file_search search_file find_by_name glob_search list_files
grep: rg ripgrep grep_files codebase_search grep_search search search_code code_search search_in_files search_file_content search_for_pattern content_search start_search
bash: run_command run_terminal_cmd run_in_terminal run_shell_command execute execute_bash exec exec_command shell sh terminal run run_bash command local_shell start_process zsh powershell execute_command
execute_command: run_command execute exec shell run process bash
bash_jobs: bash_output kill_shell kill_bash task_output task_stop read_process_output read_output interact_with_process list_processes list_sessions kill_process force_terminate get_terminal_output jobs
web_fetch: fetch fetch_url get_url browse open_url http_request http_get read_url url_fetch download navigate curl
web_search: search_web brave_web_search google_search tavily_search search internet_search web_search_exa
move_file: move rename mv rename_file
copy_file: copy cp
create_directory: mkdir make_directory create_dir create_folder make_dir
delete_file: rm delete remove unlink remove_file delete_path
gmail_send: send_email send_mail
gmail_search: search_emails search_mail list_emails
gmail_read: read_email get_email
system_info: get_system_info sysinfo uname list_allowed_directories get_working_directory pwd
capabilities_refresh: refresh_capabilities
mcp_search: tool_search search_tools
: todo_write todo_read update_plan write_todos save_memory task agent skill ask_user_question enter_plan_mode exit_plan_mode slash_command think sequential_thinking
: notebook_edit create_entities search_nodes set_config_value get_config get_usage_stats give_feedback_to_desktop_commander report_progress attempt_completion finish
`

// toolNames returns the names of the table by each of their other names, in the order of the table.
// By themselves there are none.
var toolNames = sync.OnceValue(func() map[string][]string {
	names := map[string][]string{}
	for line := range strings.Lines(tools) {
		name, others, _ := strings.Cut(line, ":")
		for other := range strings.FieldsSeq(others) {
			names[Plain(other)] = append(names[Plain(other)], name)
		}
		if _, other := names[Plain(name)]; !other {
			names[Plain(name)] = nil
		}
	}
	return names
})

// Plain folds the ways to write a name of several words: case, and what is between them. Of what is too
// long for a name nothing is left.
func Plain(name string) string {
	if len(name) > maxWord {
		return ""
	}
	return strings.Map(func(r rune) rune {
		switch r {
		case '_', '-', '.', ' ', '/':
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// Tool returns the candidates that a caller may have meant with the tool word, the most likely first: by
// what well-known tools are called, or else by its spelling. Known tells that word is of those.
func Tool(word string, candidates []string) (meant []string, known bool) {
	folded := Plain(word)
	for _, c := range candidates {
		if folded != "" && Plain(c) == folded {
			return []string{c}, true
		}
	}
	others, known := toolNames()[folded]
	for _, name := range others {
		if slices.Contains(candidates, name) {
			meant = append(meant, name)
		}
	}
	if near, ok := Word(word, candidates); ok && !known { // else it is no slip
		meant = []string{near}
	}
	return meant, known
}
